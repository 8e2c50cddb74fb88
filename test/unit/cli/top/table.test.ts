/** How a table gets into the width and the height that there is. */
import { expect, test } from 'vitest';
import { type Column, listLines } from '../../../../src/cli/top/table.ts';
import { clientColumns, policyColumns, sparkline, sum } from '../../../../src/cli/top/tables.ts';
import { clockText, cutLine, padded, textOf, wrapped } from '../../../../src/cli/top/text.ts';
import { client, NOW_MS, policy, seriesEnding } from '../../../support/top.ts';

type Row = readonly [string, string, string];

const COLUMNS: readonly Column<Row>[] = [
  { head: 'NAME', cell: ([name]) => name, least: 6, rank: 9 },
  { head: 'N', cell: ([, n]) => n, align: 'right', rank: 1 },
  { head: 'WHERE', cell: ([, , where]) => where, least: 5, rank: 2 },
];
const ROWS: readonly Row[] = [
  ['abcdefghij', '7', 'somewhere'],
  ['b', '12', 'here'],
];

interface Shown {
  readonly rows?: readonly Row[];
  readonly columns?: readonly Column<Row>[];
  readonly chosen?: number;
  readonly hasKeys?: boolean;
}

function table(width: number, height: number, shown: Shown = {}): string[] {
  const { rows = ROWS, columns = COLUMNS, chosen = 0, hasKeys = true } = shown;
  const list = { rows, columns, chosen, hasKeys, empty: 'nobody is here' };
  return listLines(list, width, height).map((line) => textOf(line).trimEnd());
}

test('each column is as wide as its widest cell, and numbers end at the right', () => {
  expect(table(80, 9)).toEqual([
    '  NAME         N  WHERE',
    '> abcdefghij   7  somewhere',
    '  b           12  here',
  ]);
  expect(table(80, 9, { hasKeys: false })[1]).toBe('  abcdefghij   7  somewhere');
  expect(table(80, 9, { chosen: 1 })[2]).toBe('> b           12  here');
});

test('it fits without a cut in exactly its width', () => {
  expect(table(27, 9)[1]).toBe('> abcdefghij   7  somewhere');
  // The widest is cut first.
  expect(table(26, 9)[1]).toBe('> abcdefgh…   7  somewhere');
  expect(table(25, 9)[1]).toBe('> abcdefg…   7  somewhere');
});

test('the widest column gives first, whichever it is', () => {
  const columns = [COLUMNS[2], COLUMNS[0]] as Column<Row>[];
  const rows: Row[] = [['short', '', 'a-very-long-place']];
  expect(table(20, 9, { rows, columns })[1]).toBe('> a-very-lon…  short');
  const swapped = [COLUMNS[0], COLUMNS[2]] as Column<Row>[];
  expect(table(20, 9, { rows, columns: swapped })[1]).toBe('> short  a-very-lon…');
});

test('columns that cannot be cut further are left out, the lowest rank first', () => {
  // 6 + 2 + 5 and two gaps of 2 and the marker of 2 are 19.
  expect(table(19, 9)[1]).toBe('> abcde…   7  some…');
  expect(table(18, 9)[1]).toBe('> abcdef…  somewh…');
  expect(table(15, 9)[1]).toBe('> abcde…  some…');
  expect(table(14, 9)[1]).toBe('> abcdefghij');
  expect(table(4, 9)).toHaveLength(3);
});

const MANY: readonly Row[] = Array.from({ length: 10 }, (_, i) => [`row-${i}`, '1', 'x']);
const names = (lines: readonly string[]) =>
  lines.slice(1).map((line) => /row-\d/.exec(line)?.[0] ?? line);

test.each([
  [0, [0, 1, 2, 3]],
  [2, [0, 1, 2, 3]],
  [3, [1, 2, 3, 4]],
  [7, [5, 6, 7, 8]],
  [8, [6, 7, 8, 9]],
  [9, [6, 7, 8, 9]],
])('row %d is chosen: it is in sight', (chosen, rows) => {
  const lines = table(40, 5, { rows: MANY, chosen });
  expect(names(lines)).toEqual(rows.map((i) => `row-${i}`));
  const [first = 0] = rows;
  expect(lines[0]).toMatch(new RegExp(`^ {2}NAME .* ${first + 1} to ${first + 4} of 10$`));
  expect(lines[0]).toHaveLength(40);
  expect(lines.filter((line) => line.startsWith('> '))).toEqual([
    expect.stringContaining(`row-${chosen}`),
  ]);
});

test('the count is shown only if rows are out of sight, and only where it fits', () => {
  expect(table(40, 11, { rows: MANY })[0]).toBe('  NAME   N  WHERE');
  expect(table(40, 10, { rows: MANY })[0]).toContain('1 to 9 of 10');
  // `  NAME   N  WHERE` are 17, a space at least, and the count.
  expect(table(31, 5, { rows: MANY })[0]).toContain('1 to 4 of 10');
  expect(table(30, 5, { rows: MANY })[0]).toBe('  NAME   N  WHERE');
});

test('no room for rows, and no rows', () => {
  expect(table(40, 1, { rows: MANY })).toHaveLength(1);
  expect(table(40, 0, { rows: MANY })).toHaveLength(1);
  expect(table(40, 5, { rows: [] })).toEqual(['  NAME  N  WHERE', '  nobody is here']);
});

test.each([
  [109, 15],
  [110, 30],
  [169, 30],
  [170, 60],
])('in %d columns a sparkline has %d', (columns, width) => {
  const [, , , requests] = policyColumns({ columns, rows: 24 });
  expect(requests?.cell(policy('p', { requests: seriesEnding(1) }))).toHaveLength(width);
});

test('cells of a policy', () => {
  const cells = (of: ReturnType<typeof policy>) =>
    policyColumns({ columns: 80, rows: 24 }).map(({ cell, tone }) => [cell(of).trim(), tone?.(of)]);
  expect(cells(policy('login', { requests: seriesEnding(40), denials: seriesEnding(10) }))).toEqual(
    [
      ['login', undefined],
      ['enforce', undefined],
      ['4.0', undefined],
      ['█', undefined],
      ['1.0', 'warning'],
      ['█', undefined],
    ],
  );
  const shadow = {
    mode: 'shadow',
    would_deny: seriesEnding(20),
    denials: seriesEnding(70),
  } as const;
  expect(cells(policy('trial', shadow)).slice(1, 5)).toEqual([
    ['shadow*', 'warning'],
    ['0', undefined],
    ['', undefined],
    ['(2.0)', undefined],
  ]);
  expect(cells(policy('quiet'))[4]).toEqual(['0', undefined]);
});

test('cells of a client: times of today and of another day, with the span where there is room', () => {
  const cells = (columns: number, of: ReturnType<typeof client>) =>
    Object.fromEntries(
      clientColumns({ columns, rows: 24 }, NOW_MS).map(({ head, cell }) => [head, cell(of)]),
    );
  const row = client('k.a', {
    ...{ denials: 1_204, since: '2026-11-22T11:29:00.000Z', until: '2026-11-23T00:00:00.000Z' },
  });
  expect(cells(109, row)).toEqual({
    ...{ CLIENT: 'k.a', POLICY: 'login', DENIALS: '1,204' },
    ...{ SINCE: '11:29:00', UNTIL: '11-23 00:00', DECISION: 'id-of-k.a' },
  });
  expect(cells(110, row)).toMatchObject({
    ...{ REASON: 'over_limit', SINCE: '11:29:00 (60 s ago)', UNTIL: '11-23 00:00 (in 13 h)' },
  });
  expect(cells(109, { ...row, since: '2026-11-21T23:59:59.000Z' }).SINCE).toBe('11-21 23:59');
  expect(cells(109, { ...row, since: '2026-11-22T00:00:00.000Z' }).SINCE).toBe('00:00:00');
});

test('a sparkline has all counts, in parts that are as equal as they can be', () => {
  expect(sparkline([1, 1, 1, 1, 1], 2)).toBe('█▆');
  expect(sparkline([8, 1, 7, 0], 4)).toBe('█▁▇ ');
  expect(sum([])).toBe(0);
  expect(sum([1, 2, 3])).toBe(6);
});

test('texts are padded on either side, never cut by it', () => {
  expect(padded('ab', 4)).toBe('ab  ');
  expect(padded('ab', 4, 'right')).toBe('  ab');
  expect(padded('abc', 2)).toBe('abc');
  expect(padded('日本', 5)).toBe('日本 ');
  expect(clockText(NOW_MS)).toBe('11:30:00');
});

test('a line that is wrapped goes on with the indent', () => {
  expect(wrapped('one two three four', 9, '  ')).toEqual(['one two', '  three', '  four']);
  expect(wrapped('one two', 7)).toEqual(['one two']);
  expect(wrapped('one two', 6)).toEqual(['one', 'two']);
});

test('a cut line has no span outside, and keeps the tones', () => {
  const line = { spans: ['abc', { text: 'def', tone: 'bad' as const }, 'ghi'] };
  expect(cutLine(line, 9)).toEqual(line);
  expect(cutLine(line, 8)).toEqual({ spans: ['abc', { text: 'def', tone: 'bad' }, 'g…'] });
  expect(cutLine(line, 6)).toEqual({ spans: ['abc', { text: 'def', tone: 'bad' }] });
  expect(cutLine(line, 5)).toEqual({ spans: ['abc', { text: 'd…', tone: 'bad' }] });
  expect(cutLine(line, 3)).toEqual({ spans: ['abc'] });
  expect(cutLine('abc', 0)).toEqual({ spans: [] });
});
