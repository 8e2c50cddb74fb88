import { randomUUID } from 'node:crypto';
import fc from 'fast-check';
import type { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Descriptor } from '../../src/core/store.ts';
import { createRedisClient } from '../../src/stores/redis/client.ts';
import { RedisStore } from '../../src/stores/redis/redis-store.ts';
import { openMemoryStore } from '../support/memory-store.ts';
import { redisIsHere, startRedis, type TestRedis } from '../support/redis.ts';
import { NOON_MS } from '../support/requests.ts';
import { describeQuotaStore, type StoreUnderTest } from './quota-store.contract.ts';

describe.skipIf(!redisIsHere)('the Redis store', () => {
  let redis: TestRedis;
  let client: Redis;

  beforeAll(async () => {
    redis = await startRedis();
    client = createRedisClient(redis.url, () => {});
    await new Promise((resolve) => client.once('ready', resolve));
  });

  afterAll(async () => {
    client.disconnect();
    await redis[Symbol.asyncDispose]();
  });

  function openRedisStore(): StoreUnderTest {
    const clock = { nowMs: NOON_MS };
    const store = new RedisStore({ client, deadlineMs: 5_000, now: () => clock.nowMs });
    const id = randomUUID();
    return { store, clock, key: (name = 'a') => `hg:v1:{${id}}:${name}` };
  }

  describeQuotaStore(openRedisStore);

  // Windows are long against the test's own duration: Redis expires keys by its real clock.
  const WINDOWS_MS = [60_000, 300_000, 3_600_000];
  const LIMITS = [1, 2, 3, 5, 9];

  interface Traffic {
    /** How the clock moves between two turns. */
    readonly advanceMs: fc.Arbitrary<number>;
    readonly keys: number;
    readonly windowsMs: readonly number[];
  }

  /** Turns of several requests, each with several limits. */
  function turns({ advanceMs, keys, windowsMs }: Traffic) {
    const take = fc.record({
      key: fc.integer({ min: 1, max: keys }),
      windowMs: fc.constantFrom(...windowsMs),
      limit: fc.constantFrom(...LIMITS),
      cost: fc.constantFrom(1, 1, 1, 2, 3),
    });
    const request = fc.uniqueArray(take, {
      minLength: 1,
      maxLength: 4,
      selector: ({ key, windowMs }) => `${key} ${windowMs}`,
    });
    const requests = fc.array(request, { minLength: 1, maxLength: 6 });
    return fc.array(fc.record({ advanceMs, requests }), { minLength: 1, maxLength: 30 });
  }

  async function expectSameAnswers(traffic: Traffic): Promise<void> {
    await fc.assert(
      fc.asyncProperty(turns(traffic), async (steps) => {
        const stores = [openMemoryStore(), openRedisStore()];
        for (const { advanceMs, requests } of steps) {
          const answers = stores.map(({ store, clock, key }) => {
            clock.nowMs += advanceMs;
            const takes = requests.map((request) =>
              request.map(
                ({ key: id, windowMs, limit, cost }): Descriptor => ({
                  key: key(`${id}:${windowMs}`),
                  limit,
                  windowMs,
                  cost: Math.min(cost, limit),
                }),
              ),
            );
            return Promise.all(takes.map((descriptors) => store.take(descriptors)));
          });
          const [memory, inRedis] = await Promise.all(answers);
          expect(inRedis).toEqual(memory);
        }
      }),
      { numRuns: 1_500 },
    );
  }

  describe('memory and Redis give the same answers to the same random traffic', () => {
    const forward = [
      fc.constantFrom(0, 0, 0, 1, 60_000, 300_000),
      fc.integer({ min: 0, max: 120_000 }),
    ];

    test('over several limits, windows and costs', () =>
      expectSameAnswers({ advanceMs: fc.oneof(...forward), keys: 4, windowsMs: WINDOWS_MS }));

    // One key: which of several are already forgotten when the clock steps back is each store's own affair.
    test('also when the clock steps back', () =>
      expectSameAnswers({
        advanceMs: fc.oneof(...forward, fc.constantFrom(-1, -5_000, -120_000)),
        keys: 1,
        windowsMs: [60_000],
      }));
  });

  test('every key in Redis expires by itself when its window is over', async () => {
    const { store, key } = openRedisStore();
    await store.take([{ key: key(), limit: 5, windowMs: 60_000, cost: 1 }]);
    const ttlMs = await client.pttl(key());
    expect(ttlMs).toBeGreaterThan(59_000);
    expect(ttlMs).toBeLessThanOrEqual(60_000);
  });

  test('a denial writes nothing', async () => {
    const { store, clock, key } = openRedisStore();
    const descriptor = { key: key(), limit: 1, windowMs: 60_000, cost: 1 };
    await store.take([descriptor]);
    const before = await client.dump(key());
    clock.nowMs += 1_000;
    expect((await store.take([descriptor])).admitted).toBe(false);
    expect(await client.dump(key())).toBe(before);
  });

  test('the log in Redis is no longer than the limit, however long the traffic goes on', async () => {
    const { store, clock, key } = openRedisStore();
    for (let i = 0; i < 500; i++) {
      clock.nowMs += 500;
      await store.take([{ key: key(), limit: 10, windowMs: 4_000, cost: 1 }]);
    }
    expect(await client.llen(key())).toBeLessThanOrEqual(10);
  });
});
