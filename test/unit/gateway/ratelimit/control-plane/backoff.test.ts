import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  RECONNECTION,
  REPETITION,
  waitAfter,
} from '../../../../../src/gateway/ratelimit/control-plane/discovery.ts';

const waits = (backoff: typeof RECONNECTION, random: number) =>
  [0, 1, 2, 3, 4, 1_000_000].map((failed) => waitAfter(backoff, failed, random));

test('waits double up to the maximum', () => {
  expect(waits(RECONNECTION, 0)).toEqual([10_000, 20_000, 40_000, 60_000, 60_000, 60_000]);
  expect(waits(REPETITION, 0)).toEqual([1_000, 2_000, 4_000, 8_000, 10_000, 10_000]);
});

test('a share of each wait is random', () => {
  expect(waits(RECONNECTION, 0.5)).toEqual([7_500, 15_000, 30_000, 45_000, 45_000, 45_000]);
});

test('no wait is negative or longer than the maximum', () => {
  const ms = fc.nat(600_000);
  const share = fc.double({ min: 0, max: 1, noNaN: true });
  fc.assert(
    fc.property(
      ms,
      ms,
      share,
      share,
      fc.nat(),
      (initialMs, maxMs, randomFactor, random, failed) => {
        const wait = waitAfter({ initialMs, maxMs, randomFactor }, failed, random);
        expect(wait).toBeGreaterThanOrEqual(0);
        expect(wait).toBeLessThanOrEqual(maxMs);
      },
    ),
  );
});
