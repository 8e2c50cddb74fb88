import { expect, test } from 'vitest';
import { parseRate } from '../../../../src/config/policy-file/rate.ts';

const DAY_MS = 86_400_000;

test.each([
  ['5/5min', 5, 300_000, '5min'],
  ['100/1min', 100, 60_000, '1min'],
  ['1000/1h', 1_000, 3_600_000, '1h'],
  ['10/1s', 10, 1_000, '1s'],
  ['500/1d', 500, DAY_MS, '1d'],
  ['1/31d', 1, 31 * DAY_MS, '31d'],
  ['1000000/24h', 1_000_000, DAY_MS, '24h'],
])('reads the rate %s', (text, limit, windowMs, window) => {
  expect(parseRate(text)).toEqual({ limit, windowMs, window });
});

test.each([
  ['1/32d', 'a window of 32d is too long, the maximum is 31d'],
  ['1/745h', 'a window of 745h is too long'],
  ['1000001/1s', 'a limit of 1000001 is too large, the maximum is 1000000'],
])('refuses %s as too large', (text, message) => {
  expect(() => parseRate(text)).toThrow(message);
});

test.each([
  ['5/5m', 'write "5/5min"'],
  ['5/min', 'write "5/1min"'],
  ['5 / 5 minutes', 'write "5/5min"'],
  ['5 per second', 'write "5/1s"'],
  ['10/2Hours', 'write "10/2h"'],
  ['3/2 days', 'write "3/2d"'],
  ['3/2D', 'write "3/2d"'],
  ['fast', 'write requests/window'],
  ['', 'write requests/window'],
  ['5/0s', 'write requests/window'],
  ['1e3/1h', 'write requests/window'],
  ['5/1h\n', 'write'],
])('refuses "%s" and says what to write', (text, remedy) => {
  expect(() => parseRate(text)).toThrow(remedy);
});
