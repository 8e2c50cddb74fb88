/** The table of docs/proxies.md says what clients see behind the proxies. `npm run docs -- proxies` writes it again. */
import { afterAll, describe, expect, inject, test } from 'vitest';
import { type Row, tableOf, writeTable } from '../support/document-tables.ts';
import { versionOf } from '../support/program-version.ts';
import { isHere, PROXY_ROWS } from '../support/proxy-starts.ts';
import { tryProxy } from './support/proxy-trial.ts';

const FILE = 'proxies.md';
const COLUMNS = [
  'proxy',
  'version',
  'tested',
  '429',
  'headers on deny',
  'body on deny',
  'headers on allow',
  "application's own",
  '20 MB upload',
  'gateway gone',
  'keeps its connections',
] as const;

const documented = tableOf(FILE, COLUMNS);
const isWriting = process.env.WRITE_DOCS !== undefined;
const programs = inject('programs');
const seen: Row<typeof COLUMNS>[] = [];

describe.each(PROXY_ROWS)('$proxy', (row) => {
  const { proxy, program, tested, start, isGrpc = false } = row;
  const versions = PROXY_ROWS.filter((each) => each.proxy === proxy);
  const said = documented.filter((each) => each.proxy === proxy)[versions.indexOf(row)];

  test.skipIf(!isHere(row, programs))(`${program ?? 'replayed'}: ${tested}`, async () => {
    const version = row.version ?? (program === undefined ? '–' : versionOf(program));
    seen.push({ proxy, version, tested, ...(await tryProxy(start, isGrpc)) });
    // Another version of the program must do the same.
    if (!isWriting) expect({ ...seen.at(-1), version: '' }).toEqual({ ...said, version: '' });
  });
});

afterAll(() => {
  if (isWriting) writeTable(FILE, COLUMNS, seen);
});
