import { expect, test } from 'vitest';
import { parseDuration } from '../../../../src/gateway/config/rate.ts';

test.each([
  ['90s', 90_000],
  ['30min', 1_800_000],
  ['1h', 3_600_000],
  ['7d', 604_800_000],
])('%s is %i ms', (text, milliseconds) => {
  expect(parseDuration(text)).toBe(milliseconds);
});

test.each(['', '0s', '05min', '1.5h', '-1h', '1', 'ever', '1 h', '1w', '1234567890s'])(
  'refuses "%s"',
  (text) => {
    expect(() => parseDuration(text)).toThrow(`"${text}" is not a duration: write a number`);
  },
);
