import fc from 'fast-check';
import { expect, test } from 'vitest';
import { dryRun } from '../../../../../src/gateway/core/counting/dry-run.ts';
import { ALGORITHMS } from '../../../../../src/gateway/core/counting/store.ts';
import { MemoryStore } from '../../../../../src/gateway/stores/memory/memory-store.ts';
import { calendarQuota, quotaOf } from '../../../../support/quotas.ts';
import { NOON_MS } from '../../../../support/requests.ts';

const step = fc.record({
  advanceMs: fc.integer({ min: 0, max: 40_000 }),
  cost: fc.integer({ min: -3, max: 6 }),
});

const QUOTAS = [
  ...ALGORITHMS.map((algorithm) => quotaOf({ algorithm, limit: 5, windowMs: 60_000, burst: 5 })),
  calendarQuota(5, 'day', 'Asia/Kathmandu'),
];

test.each(QUOTAS)(
  'a dry run of a $algorithm of $windowMs ms predicts the result of the take after it',
  async (quota) => {
    const { algorithm } = quota;
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 30 }), async (steps) => {
        const clock = { nowMs: NOON_MS };
        const store = new MemoryStore({ now: () => clock.nowMs, maxKeys: 10 });
        const dry = dryRun(store);
        for (const { advanceMs, cost } of steps) {
          clock.nowMs += advanceMs;
          const descriptors = [{ key: 'a', quota, cost }];
          const predicted = await dry.take(descriptors);
          const actual = store.take(descriptors);
          expect(predicted.admitted).toBe(actual.admitted);
          const [before, after] = [predicted.states[0], actual.states[0]];
          expect(before?.retryAfterMs).toBeGreaterThanOrEqual(after?.retryAfterMs ?? 0);
          const early = (before?.resetAfterMs ?? 0) - (after?.resetAfterMs ?? 0);
          if (cost < 0) {
            // How much a refund gives back is not known before.
            expect(before?.remaining).toBeLessThanOrEqual(after?.remaining ?? 0);
            expect(early).toBeGreaterThanOrEqual(0);
            continue;
          }
          expect(before?.remaining).toBe(after?.remaining);
          // There is a wait only if there will be one.
          expect(before?.retryAfterMs === 0).toBe(after?.retryAfterMs === 0);
          expect(early === 0 || (algorithm === 'token-bucket' && early === 1)).toBe(true);
        }
      }),
    );
  },
);
