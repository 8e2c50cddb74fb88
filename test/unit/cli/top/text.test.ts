import { expect, test } from 'vitest';
import { sparkline } from '../../../../src/cli/top/tables.ts';
import { cut, widthOf, wrapped } from '../../../../src/cli/top/text.ts';

test('a sparkline is as high as its highest part, and shows nothing where nothing was', () => {
  expect(sparkline([0, 0, 1, 1, 4, 4, 8, 8], 4)).toBe(' ▁▄█');
  expect(sparkline([1, 1_000], 2)).toBe('▁█');
  expect(sparkline([0, 0], 2)).toBe('  ');
  expect(sparkline([], 3)).toBe('   ');
});

test('texts are measured in columns, and cut visibly', () => {
  expect(widthOf('a\u0301b')).toBe(2);
  expect(widthOf('\u65e5\u672c')).toBe(4);
  expect(cut('abcdef', 4)).toBe('abc…');
  expect(cut('\u65e5\u672c\u8a9e', 4)).toBe('\u65e5…');
  expect(cut('abc', 3)).toBe('abc');
  expect(cut('abc', 0)).toBe('');
});

test('texts are wrapped between words', () => {
  expect(wrapped('one two three', 8)).toEqual(['one two', 'three']);
  expect(wrapped('incomprehensible', 8)).toEqual(['incompr…']);
});
