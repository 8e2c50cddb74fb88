/** Charges of an address, whose name changes at midnight, against those of a value that keeps its name. */
import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { callOf, limitingWith } from '../../../support/rate-limiting.ts';

const MIDNIGHT_MS = Date.UTC(2026, 0, 2);
const LIMIT = 5;
const RUNS = 150;
/** The same traffic in each run of the tests. */
const SEED = 20_260_102;
/**
 * The two names of an address may spend what charges may take in another order than one name does. Then a charge takes less
 * from the address, in few of such traffics.
 */
const MOST_DIFFERENT = RUNS / 20;

const STEPS = fc.array(
  fc.record({
    advanceMs: fc.constantFrom(0, 1_000, 5_000, 20_000, 45_000),
    hits: fc.constantFrom(undefined, undefined, 0, 1, 2, 4),
    limits: fc.constantFrom(['a'], ['a', 'b'], ['b', 'a']),
  }),
  { minLength: 10, maxLength: 40 },
);

function rulesWith(algorithm: string): string {
  const limit = `rate_limit: { unit: minute, requests_per_unit: ${LIMIT} }`;
  const own = `headgate: { algorithm: ${algorithm} }`;
  const descriptors = ['a', 'b'].map((key) => `{ key: ${key}, ${limit}, ${own} }`);
  return `domain: d\ndescriptors: [${descriptors.join(', ')}]`;
}

test.each(['sliding-window-log', 'sliding-window-counter', 'token-bucket'])(
  'charges around midnight take from an address what they take from others: %s',
  async (algorithm) => {
    let different = 0;
    await fc.assert(
      fc.asyncProperty(STEPS, async (steps) => {
        const limiting = limitingWith(rulesWith(algorithm), { windows: 'sliding' });
        limiting.clock.nowMs = MIDNIGHT_MS - 60_000;
        for (const { advanceMs, hits, limits } of steps) {
          limiting.clock.nowMs += advanceMs;
          const answerTo = (value: string) => {
            const names = limits.map((key) => `${key}=${value}`);
            const { descriptors, ...call } = callOf('d', names);
            const [first, ...others] = descriptors.map((each) => ({ ...each, hitsAddend: hits }));
            const plain = others.map((each) => ({ ...each, hitsAddend: undefined }));
            return limiting.answer({ ...call, descriptors: [...(first ? [first] : []), ...plain] });
          };
          const address = await answerTo('203.0.113.7');
          const tenant = await answerTo('acme');
          if (isDeepStrictEqual(address, tenant)) continue;
          different++;
          expect([address.isOverLimit, tenant.isOverLimit]).not.toEqual([true, false]);
          for (const [i, { remaining }] of address.statuses.entries()) {
            expect(remaining).toBeGreaterThanOrEqual(tenant.statuses[i]?.remaining ?? 0);
          }
          return;
        }
      }),
      { numRuns: RUNS, seed: SEED },
    );
    expect(different).toBeLessThanOrEqual(MOST_DIFFERENT);
  },
);

const PLAIN_STEPS = fc.array(
  fc.record({
    advanceMs: fc.constantFrom(0, 1_000, 5_000, 20_000, 45_000),
    hits: fc.constantFrom(1, 1, 2, 3),
    limits: fc.constantFrom(['a'], ['a', 'b'], ['b', 'a']),
  }),
  { minLength: 10, maxLength: 40 },
);
const HEADERS = { limit: 'limit', remaining: 'remaining', reset: 'reset' };

test.each(['sliding-window-log', 'sliding-window-counter', 'token-bucket'])(
  'calls around midnight get the same answers about an address as about others: %s',
  async (algorithm) => {
    await fc.assert(
      fc.asyncProperty(PLAIN_STEPS, async (steps) => {
        const limiting = limitingWith(rulesWith(algorithm), { headers: HEADERS, hasBody: true });
        limiting.clock.nowMs = MIDNIGHT_MS - 60_000;
        for (const { advanceMs, hits, limits } of steps) {
          limiting.clock.nowMs += advanceMs;
          const [address, tenant] = await Promise.all(
            ['203.0.113.7', 'acme'].map((value) => {
              const names = limits.map((key) => `${key}=${value}`);
              return limiting.answer(callOf('d', names, hits));
            }),
          );
          expect(address).toEqual(tenant);
        }
      }),
      { numRuns: RUNS },
    );
  },
);
