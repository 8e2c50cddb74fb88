import { expect, test } from 'vitest';
import { count, counted, percent, timeText } from '../../../../src/cli/evidence/figures.ts';

test('counts have commas', () => {
  expect([0, 999, 1_000, 1_234_567].map(count)).toEqual(['0', '999', '1,000', '1,234,567']);
});

test('a count of one has a singular', () => {
  expect([0, 1, 2_000].map((number) => counted(number, 'client'))).toEqual([
    '0 clients',
    '1 client',
    '2,000 clients',
  ]);
});

test.each([
  [0, 0, '0 %'],
  [0, 9, '0 %'],
  [1, 1_000_000, '0.00010 %'],
  [31, 50_000, '0.062 %'],
  [1, 3, '33 %'],
  [999, 1_000, '99.9 %'],
  [7, 7, '100 %'],
])('%i of %i is %s', (part, whole, text) => {
  expect(percent(part, whole)).toBe(text);
});

test('nearly all is never rounded to all', () => {
  expect(percent(999_999, 1_000_000)).not.toBe('100 %');
  expect(percent(999_999, 1_000_000)).not.toBe('100.0 %');
});

test('times have no fractions, and no time is no text', () => {
  expect(timeText('2026-11-22T00:53:32.123Z')).toBe('2026-11-22 00:53:32');
  expect(timeText(null)).toBe('');
});
