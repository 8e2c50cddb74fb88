import { Writable } from 'node:stream';
import { WriteStream } from 'node:tty';
import { afterEach, expect, test, vi } from 'vitest';
import { untilCell } from '../../../../src/cli/ops-client/cells.ts';
import { type Line, say } from '../../../../src/cli/output/output.ts';
import { alignedRows, table } from '../../../../src/cli/output/table.ts';
import { NOON_MS } from '../../../support/requests.ts';

afterEach(() => {
  vi.restoreAllMocks();
  vi.unstubAllEnvs();
});

function said(lines: readonly Line[], env: { FORCE_COLOR?: string; NO_COLOR?: string }): string {
  vi.stubEnv('FORCE_COLOR', env.FORCE_COLOR);
  vi.stubEnv('NO_COLOR', env.NO_COLOR);
  const log = vi.spyOn(console, 'log').mockImplementation(() => {});
  say(lines);
  return String(log.mock.calls.at(-1)?.[0]);
}

const COLORED = { FORCE_COLOR: '1' };
const ROWS = table(
  ['A', 'B', 'C'],
  [
    [{ text: 'long', tone: 'bad' }, '', [{ text: 'c', tone: 'good' }, 'd']],
    ['', { text: 'wide', tone: 'warning' }, ''],
  ],
);

test('cells are aligned by what is seen of them', () => {
  expect(said(ROWS, {})).toBe('A     B     C\nlong        cd\n      wide');
});

test('tones are colors if colors are wanted', () => {
  expect(said(ROWS, COLORED)).toBe(
    [
      '\x1b[1mA\x1b[22m     \x1b[1mB\x1b[22m     \x1b[1mC\x1b[22m',
      '\x1b[31mlong\x1b[39m        \x1b[32mc\x1b[39md',
      '      \x1b[33mwide\x1b[39m',
    ].join('\n'),
  );
});

test.each([
  [true, {}, true],
  [true, { NO_COLOR: '1' }, false],
  [false, {}, false],
  [false, COLORED, true],
])('whether output is colored, if terminal: %s, with %j: %s', (isTTY, env, isColored) => {
  vi.stubEnv('TERM', 'xterm-256color');
  // In CI, Node takes a terminal for one without colors.
  vi.stubEnv('CI', undefined);
  const { getColorDepth } = WriteStream.prototype;
  const stream = Object.assign(new Writable(), { isTTY, getColorDepth });
  vi.spyOn(process, 'stdout', 'get').mockReturnValue(stream as unknown as typeof process.stdout);
  expect(said(ROWS, env).includes('\x1b')).toBe(isColored);
});

test('what somebody wrote is escaped, with and without a tone', () => {
  const foreign = '\x1b[31mred\u202e\n';
  const lines = alignedRows([[{ text: foreign, tone: 'bad' }, foreign]]);
  const escaped = '\\u{1b}[31mred\\u{202e}\\u{a}';
  expect(said(lines, {})).toBe(`${escaped}  ${escaped}`);
  expect(said(lines, COLORED)).toBe(`\x1b[31m${escaped}\x1b[39m  ${escaped}`);
});

test('an end is shown with how far away it is', () => {
  const cell = untilCell(new Date(NOON_MS + 60_000).toISOString(), NOON_MS);
  expect(said(alignedRows([[cell]]), {})).toBe('2026-11-21 12:01:00, in 60 s');
});
