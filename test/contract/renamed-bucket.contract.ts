/** A token bucket that gets a new name must answer as if it had kept its name. */
import fc from 'fast-check';
import { expect } from 'vitest';
import { memoryOf } from '../../src/gateway/core/counting/lookback.ts';
import type { Descriptor, TakeResult } from '../../src/gateway/core/counting/store.ts';
import { quotaOf } from '../support/quotas.ts';
import type { StoreUnderTest } from './quota-store.contract.ts';

const HOUR_MS = 3_600_000;
/** Three sizes of burst. One unit flows back in minutes, because Redis forgets keys by its own clock. */
const BURSTS = [2, 5, 30];
const LIMIT = 5;

const STEPS = fc.record({
  burst: fc.constantFrom(...BURSTS),
  countRejected: fc.constantFrom(false, false, true),
  /** How many steps come before the new name. */
  before: fc.integer({ min: 0, max: 12 }),
  steps: fc.array(
    fc.record({
      /** As a part of the time that a full bucket takes to flow back. */
      advance: fc.constantFrom(0, 0, 0, 0.01, 0.09, 0.3),
      extraMs: fc.integer({ min: 0, max: 1_000 }),
      cost: fc.constantFrom(1, 1, 1, 2, 4, 0, -1),
    }),
    { minLength: 1, maxLength: 40 },
  ),
});

/**
 * Counts under the old name, then under both until the debt can have flowed back, then under the new one; and the same under
 * one name. `rename` makes the new key from the old one.
 */
export async function expectNoRefill(
  open: () => StoreUnderTest,
  rename: (key: string) => string,
  runs: number,
): Promise<void> {
  await fc.assert(
    fc.asyncProperty(STEPS, async ({ burst, countRejected, before, steps }) => {
      const { store, clock, key } = open();
      const quota = quotaOf({
        ...{ algorithm: 'token-bucket', limit: LIMIT, windowMs: HOUR_MS },
        ...{ burst, countRejected },
      });
      const { lookbackMs } = memoryOf(quota);
      const [old, one] = [key('a'), key('one')];
      let renamedMs = Number.POSITIVE_INFINITY;
      for (const [i, { advance, extraMs, cost }] of steps.entries()) {
        clock.nowMs += Math.floor(advance * lookbackMs) + extraMs;
        if (i === before) renamedMs = clock.nowMs;
        const now: Descriptor = { key: rename(old), quota, cost };
        const both = [
          { key: old, quota, cost },
          { ...now, previousKey: old },
        ];
        const isOverLimit = clock.nowMs >= renamedMs + lookbackMs;
        const names = i < before ? both.slice(0, 1) : isOverLimit ? [now] : both;
        const found = await store.take(names);
        const expected = await store.take([{ key: one, quota, cost }]);
        expect(strictest(found)).toEqual(strictest(expected));
      }
    }),
    { numRuns: runs },
  );
}

/** A cluster does not count under the new name if the old one denies. */
function strictest({ admitted, states }: TakeResult) {
  const known = states.filter((state) => state !== undefined);
  return {
    admitted,
    remaining: Math.min(...known.map(({ remaining }) => remaining)),
    resetAfterMs: Math.max(...known.map(({ resetAfterMs }) => resetAfterMs)),
    retryAfterMs: Math.max(...known.map(({ retryAfterMs }) => retryAfterMs)),
  };
}
