import { expect, test } from 'vitest';
import { columns } from '../../../../src/cli/output/table.ts';

test('columns are as wide as their widest cell, and the last one ends where its text does', () => {
  expect(
    columns([
      ['A', 'B', 'C'],
      ['long', '', 'c'],
      ['', 'wide', ''],
    ]),
  ).toEqual(['A     B     C', 'long        c', '      wide']);
});

test('what somebody wrote moves no cursor, begins no line and turns no writing', () => {
  const written = ['\u001b[2J', 'a\r\nb', '\u202eabc', '\u009b2J'];
  const shown = ['\\u{1b}[2J', 'a\\u{d}\\u{a}b', '\\u{202e}abc', '\\u{9b}2J'];
  expect(columns([written])).toEqual([shown.join('  ')]);
  expect(
    columns([
      ['wide', 'b'],
      ['\u001b', 'b'],
    ]),
  ).toEqual(['wide    b', '\\u{1b}  b']);
});
