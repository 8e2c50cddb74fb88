/** What gateways count locally while the store fails, if calls of one counter have different hits. */
import fc from 'fast-check';
import { test } from 'vitest';
import { StoreError } from '../../../../src/gateway/core/counting/store.ts';
import { localShare } from '../../../../src/gateway/stores/local-share.ts';
import { MemoryStore } from '../../../../src/gateway/stores/memory/memory-store.ts';
import { callOf, type Limiting, limitingWith } from '../../../support/rate-limiting.ts';
import { NOON_MS } from '../../../support/requests.ts';

const rulesOf = (limit: number) => `
domain: edge
descriptors:
  - { key: key, rate_limit: { unit: hour, requests_per_unit: ${limit} }, headgate: { algorithm: sliding-window-counter, on_store_failure: local } }
`;

const failing = {
  async take(): Promise<never> {
    throw new StoreError('timeout', 'the store does not answer');
  },
};

/** One of so many gateways, while the store fails. */
function gatewayOf(limit: number, count: number, rank: number): Limiting {
  const memory = new MemoryStore({ now: () => NOON_MS, maxKeys: 10 });
  const local = localShare(memory, () => ({ count, rank }));
  return limitingWith(rulesOf(limit), { store: failing, local });
}

test('gateways together admit the limit at most', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 1, max: 300 }),
      fc.integer({ min: 1, max: 6 }),
      fc.array(fc.tuple(fc.nat(5), fc.integer({ min: 1, max: 60 })), { maxLength: 60 }),
      async (limit, count, calls) => {
        const gateways = Array.from({ length: count }, (_, rank) => gatewayOf(limit, count, rank));
        let sum = 0;
        for (const [at, hits] of calls) {
          const answer = await gateways[at % count]?.answer(callOf('edge', ['key=a'], hits));
          if (answer?.statuses[0]?.isOverLimit === false) sum += hits;
        }
        return sum <= limit;
      },
    ),
  );
});
