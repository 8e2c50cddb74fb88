import { expect, test } from 'vitest';
import { duration } from '../../../../../src/gateway/dialects/shared/limit-headers.ts';

test.each([
  [0, '0s'],
  [12, '12ms'],
  [999, '999ms'],
  [1_000, '1s'],
  [1_500, '1.5s'],
  [59_999, '59.999s'],
  [60_000, '1m0s'],
  [360_000, '6m0s'],
  [452_050, '7m32.05s'],
  [3_600_000, '1h0m0s'],
  [90_061_001, '25h1m1.001s'],
])('%i ms are written as %s', (ms, written) => {
  expect(duration(ms)).toBe(written);
});
