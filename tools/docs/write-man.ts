/** Writes dist/headgate.1, the manual page of the package. `npm pack` runs it after the build. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createProgram } from '../../src/cli/program.ts';
import { manPage } from './man-page.ts';

const CHANGELOG = new URL('../../CHANGELOG.md', import.meta.url);
const PAGE = new URL('../../dist/headgate.1', import.meta.url);

/** The date of the last release, so that the same sources make the same page. */
const [, date = ''] = /^## .*(\d{4}-\d\d-\d\d)/m.exec(readFileSync(CHANGELOG, 'utf8')) ?? [];
mkdirSync(new URL('.', PAGE), { recursive: true });
writeFileSync(PAGE, manPage(await createProgram(), date));
