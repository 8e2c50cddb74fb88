/**
 * Writes the generated pages of docs/: all of them, or those that are named, as in `npm run docs -- commands logs`.
 * `npm run docs -- proxies` writes the table of docs/proxies.md, which takes real proxies and a minute, and
 * `npm run docs -- versions` that of docs/versions.md.
 */
import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { PAGES, pageFile } from './pages.ts';

/** Tables that tests write from what they see, and those tests. */
const TABLES: Readonly<Record<string, string>> = {
  proxies: 'test/e2e/proxy-matrix.test.ts',
  versions: 'test/platform/versions.test.ts',
};

const names = process.argv.slice(2);
const known = [...Object.keys(PAGES), ...Object.keys(TABLES)];
const unknown = names.filter((name) => !known.includes(name));
if (unknown.length > 0) {
  console.error(`no page ${unknown}; one of ${known.join(', ')}`);
  process.exitCode = 2;
} else {
  for (const [name, page] of Object.entries(PAGES)) {
    if (names.length === 0 || names.includes(name)) writeFileSync(pageFile(name), page());
  }
  for (const [name, file] of Object.entries(TABLES)) {
    if (names.includes(name)) process.exitCode ||= writeTable(file);
  }
}

/** The exit code of the test. */
function writeTable(file: string): number {
  const env = { ...process.env, WRITE_DOCS: '1' };
  return spawnSync('vitest', ['run', file], { env, stdio: 'inherit' }).status ?? 1;
}
