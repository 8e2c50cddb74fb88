import fc from 'fast-check';
import { expect, test } from 'vitest';
import { dryRun } from '../../../src/core/dry-run.ts';
import { ALGORITHMS } from '../../../src/core/store.ts';
import { MemoryStore } from '../../../src/stores/memory/memory-store.ts';
import { quotaOf } from '../../support/quotas.ts';
import { NOON_MS } from '../../support/requests.ts';

const step = fc.record({
  advanceMs: fc.integer({ min: 0, max: 40_000 }),
  cost: fc.integer({ min: 1, max: 3 }),
});

test.each(ALGORITHMS)(
  'a dry run of a %s predicts the result of the take after it',
  async (algorithm) => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 30 }), async (steps) => {
        const clock = { nowMs: NOON_MS };
        const store = new MemoryStore({ now: () => clock.nowMs, maxKeys: 10 });
        const dry = dryRun(store);
        const quota = quotaOf({ algorithm, limit: 5, windowMs: 60_000, burst: 5 });
        for (const { advanceMs, cost } of steps) {
          clock.nowMs += advanceMs;
          const descriptors = [{ key: 'a', quota, cost }];
          const predicted = await dry.take(descriptors);
          const actual = store.take(descriptors);
          expect(predicted.admitted).toBe(actual.admitted);
          const [before, after] = [predicted.states[0], actual.states[0]];
          expect(before?.remaining).toBe(after?.remaining);
          const early = (before?.resetAfterMs ?? 0) - (after?.resetAfterMs ?? 0);
          expect(early === 0 || (algorithm === 'token-bucket' && early === 1)).toBe(true);
          expect(before?.retryAfterMs).toBeGreaterThanOrEqual(after?.retryAfterMs ?? 0);
        }
      }),
    );
  },
);
