import { expect, test } from 'vitest';
import { parseRate } from '../../../../src/config/policy-file/rate.ts';

test.each([
  ['5/5min', 5, 300_000, '5min'],
  ['100/1min', 100, 60_000, '1min'],
  ['1000/1h', 1_000, 3_600_000, '1h'],
  ['10/1s', 10, 1_000, '1s'],
  ['500/1d', 500, 86_400_000, '1d'],
  ['1000000/24h', 1_000_000, 86_400_000, '24h'],
])('%s', (text, limit, windowMs, window) => {
  expect(parseRate(text)).toEqual({ limit, windowMs, window });
});

test.each([
  ['5/5m', 'write "5/5min"'],
  ['5/min', 'write "5/1min"'],
  ['5 / 5 minutes', 'write "5/5min"'],
  ['5 per second', 'write "5/1s"'],
  ['10/2Hours', 'write "10/2h"'],
  ['fast', 'write requests/window'],
  ['', 'write requests/window'],
  ['5/0s', 'write requests/window'],
  ['1e3/1h', 'write requests/window'],
  ['5/1h\n', 'write'],
])('"%s" is refused with a remedy', (text, remedy) => {
  expect(() => parseRate(text)).toThrow(remedy);
});
