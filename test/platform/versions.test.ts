/** docs/versions.md says what the tests run with. `npm run docs -- versions` writes its table again. */
import { afterAll, expect, inject, test } from 'vitest';
import { type Row, tableOf, writeTable } from '../support/document-tables.ts';
import { TESTED, versionsOf } from './support/tested-versions.ts';

const FILE = 'versions.md';
const COLUMNS = ['program', 'versions', 'what the tests do with it'] as const;
const isWriting = process.env.WRITE_DOCS !== undefined;
const programs = inject('programs');
const documented = tableOf(FILE, COLUMNS);
const written: Row<typeof COLUMNS>[] = [];

test('the table has a row for each', () => {
  if (isWriting) return;
  expect(documented.map(({ program }) => program)).toEqual(TESTED.map(({ name }) => name));
});

test.each(TESTED)('$name', (row) => {
  const isHere = row.programs.every((name) => programs[name] !== undefined);
  const versions = isHere ? versionsOf(row, isWriting) : undefined;
  written.push({
    program: row.name,
    versions: String(versions),
    'what the tests do with it': row.tests,
  });
  if (isWriting) return;
  const said = documented.find(({ program }) => program === row.name);
  expect(said).toMatchObject({ 'what the tests do with it': row.tests });
  // Another version of the machine's program passes the same tests.
  if (versions !== undefined) expect(said).toMatchObject({ versions });
});

afterAll(() => {
  if (isWriting) writeTable(FILE, COLUMNS, written);
});
