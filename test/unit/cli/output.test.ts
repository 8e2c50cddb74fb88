import { expect, test } from 'vitest';
import { columns, shortTime } from '../../../src/cli/output.ts';

test('columns are as wide as their widest cell, and the last one ends where its text does', () => {
  expect(
    columns([
      ['A', 'B', 'C'],
      ['long', '', 'c'],
      ['', 'wide', ''],
    ]),
  ).toBe('A     B     C\nlong        c\n      wide');
});

test('what somebody wrote moves no cursor, begins no line and turns no writing', () => {
  expect(columns([['\u001b[2J', 'a\r\nb', '\u202eabc', '\u009b2J']])).toBe('?[2J  a??b  ?abc  ?2J');
});

test('moments are told to the second', () => {
  expect(shortTime('2026-11-22T00:53:32.723Z')).toBe('2026-11-22 00:53:32');
});
