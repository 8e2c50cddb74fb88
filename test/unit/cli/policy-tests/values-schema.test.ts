import { expect, test } from 'vitest';
import { durationText, parseDuration } from '../../../../src/cli/policy-tests/values-schema.ts';

test.each([
  ['0s', 0, '0s'],
  ['0ms', 0, '0s'],
  ['90s', 90_000, '1min30s'],
  ['1h30min', 5_400_000, '1h30min'],
  ['299s999ms', 299_999, '4min59s999ms'],
  ['31d', 2_678_400_000, '31d'],
  ['3650d', 315_360_000_000, '3650d'],
])('%s is %i ms', (text, ms, shown) => {
  expect(parseDuration(text)).toBe(ms);
  expect(durationText(ms)).toBe(shown);
  expect(parseDuration(durationText(ms))).toBe(ms);
});

test.each(['', '5', '10m', '1min1h', '-1s', '1.5s', ' 1s', '1s ', '1 s', 'd'])(
  '%j is no duration',
  (text) => expect(() => parseDuration(text)).toThrow('is not a duration'),
);

test('the longest duration is ten years', () => {
  expect(() => parseDuration('3650d1ms')).toThrow('must be at most 3650d');
});
