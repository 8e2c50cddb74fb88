import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ALGORITHMS } from '../../src/core/store.ts';
import type { RedisClient } from '../../src/stores/redis/client.ts';
import { InFlight } from '../../src/stores/redis/in-flight.ts';
import { RedisStore } from '../../src/stores/redis/redis-store.ts';
import { descriptorOf } from '../support/quotas.ts';
import { redisIsHere, startRedis, type TestRedis } from '../support/redis.ts';
import { addShippedAccount, byShippedAccount } from '../support/shipped-account.ts';
import { connectClient, openMemoryStore, openRedisStore } from '../support/stores.ts';
import { describeQuotaStore } from './quota-store.contract.ts';
import { ANY_WAY_MS, expectSameAnswers, FORWARD_MS, LIMITS } from './same-answers.ts';

const fromRoot = (path: string) => new URL(`../../${path}`, import.meta.url);

/** Of all properties together. */
const TURNS = 100_000;

describe.skipIf(!redisIsHere)('the Redis store', () => {
  let redis: TestRedis;
  let client: RedisClient;
  let witness: Redis;

  beforeAll(async () => {
    redis = await startRedis();
    witness = new Redis(redis.url);
    await addShippedAccount(redis);
    client = await connectClient(byShippedAccount(redis.url));
  });

  afterAll(async () => {
    client?.disconnect();
    witness?.disconnect();
    await redis?.[Symbol.asyncDispose]();
  });

  const open = () => openRedisStore(client);

  describeQuotaStore(open);

  describe('memory and Redis give the same answers to the same random traffic', () => {
    test('over all algorithms, limits, windows, costs and resets', () =>
      expectSameAnswers(
        {
          advanceMs: FORWARD_MS,
          algorithms: ALGORITHMS,
          clients: 4,
          windowsMs: [60_000, 300_000, 3_600_000],
          bucketLimits: [5],
        },
        () => openMemoryStore(),
        open,
        0.6 * TURNS,
      ));

    test.each([60_000, 31 * 86_400_000])('up to a million units, in windows of %i ms', (windowMs) =>
      expectSameAnswers(
        {
          // In steps that a key outlives: it expires by the server's clock, which stands still here.
          advanceMs: fc.constantFrom(0, 1, windowMs / 20, windowMs / 20, -1, -windowMs / 40),
          algorithms: ['sliding-window-log'],
          clients: 1,
          windowsMs: [windowMs],
          limits: [1_000_000, 999_999, 500_000, 3],
          costs: [1, 2, 3, 250_000, 499_999, 500_000, 1_000_000],
          bucketLimits: [1_000_000, 3],
        },
        () => openMemoryStore(),
        open,
        0.05 * TURNS,
      ),
    );

    // One key: which of several are already forgotten when the clock is set back is each store's own affair.
    test.each(ALGORITHMS)('also when the clock is set back: %s', (algorithm) =>
      expectSameAnswers(
        {
          advanceMs: ANY_WAY_MS,
          algorithms: [algorithm],
          clients: 1,
          windowsMs: [60_000],
          bucketLimits: LIMITS,
        },
        () => openMemoryStore(),
        open,
        0.1 * TURNS,
      ),
    );
  });

  test('the log admits what the classic ZSET script admits', async () => {
    const classic = readFileSync(fromRoot('bench/rivals/zset.lua'), 'utf8');
    const windowMs = 300_000;
    const step = fc.record({ advanceMs: FORWARD_MS, limit: fc.integer({ min: 1, max: 6 }) });
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 60 }), async (steps) => {
        const { store, clock, key } = open();
        const answers = [];
        const classics = [];
        for (const { advanceMs, limit } of steps) {
          clock.nowMs += advanceMs;
          answers.push(store.take([descriptorOf(key('log'), { limit, windowMs })]));
          const args = [limit, windowMs, clock.nowMs];
          classics.push(witness.eval(classic, 1, key('classic'), ...args) as Promise<number[]>);
          await new Promise((resolve) => setImmediate(resolve));
        }
        const admitted = (await Promise.all(answers)).map((answer) => (answer.admitted ? 1 : 0));
        expect(admitted).toEqual((await Promise.all(classics)).map(([verdict]) => verdict));
      }),
      { numRuns: 500 },
    );
  });

  test.each(ALGORITHMS)(
    'every key expires by itself when its window is over: %s',
    async (algorithm) => {
      const { store, key } = open();
      const windowMs = 60_000;
      const longestMs = {
        'sliding-window-log': (17 / 16) * windowMs,
        // It weighs in the window after its own.
        'sliding-window-counter': 2 * windowMs,
        'token-bucket': windowMs,
      };
      await store.take([descriptorOf(key(), { limit: 1, windowMs, algorithm })]);
      const ttlMs = await witness.pttl(key());
      expect(ttlMs).toBeGreaterThan(windowMs - 1_000);
      expect(ttlMs).toBeLessThanOrEqual(longestMs[algorithm]);
    },
  );

  test('a log lives as long as its newest entry, however often it is taken from', async () => {
    const { key } = open();
    const descriptor = descriptorOf(key(), { limit: 100_000, windowMs: 3_200 });
    // On the server's own clock, so that its time to live and its entries are of one kind.
    const own = new RedisStore({ client, inFlight: new InFlight(10), deadlineMs: 5_000 });
    for (const endMs = Date.now() + 1_000; Date.now() < endMs; ) {
      await own.take([descriptor]);
      expect(await witness.pttl(key())).toBeGreaterThanOrEqual(3_190);
    }
  });

  test.each(ALGORITHMS)('a denial writes nothing: %s', async (algorithm) => {
    const { store, clock, key } = open();
    const descriptor = descriptorOf(key(), { limit: 1, windowMs: 60_000, algorithm });
    await store.take([descriptor]);
    const before = await witness.dump(key());
    clock.nowMs += 1_000;
    expect((await store.take([descriptor])).admitted).toBe(false);
    expect(await witness.dump(key())).toBe(before);
  });

  describe('the log in Redis', () => {
    const fill = async (
      times: number,
      parts: { limit: number; cost?: number; countRejected?: boolean },
      windowMs = 4_000,
    ) => {
      const { store, clock, key } = open();
      for (let i = 0; i < times; i++) {
        clock.nowMs += 500;
        await store.take([descriptorOf(key(), { windowMs, ...parts })]);
      }
      return key();
    };
    test.each([
      { limit: 10 },
      { limit: 10, countRejected: true },
      { limit: 3, countRejected: true },
      { limit: 30, cost: 3 },
      { limit: 10, cost: 3, countRejected: true },
    ])('is no longer than the limit, however long the traffic goes on: %j', async (parts) => {
      // One more for the total of what was before.
      expect(await witness.llen(await fill(500, parts))).toBeLessThanOrEqual(parts.limit + 1);
    });
    test.each([
      { parts: { limit: 1_000 }, bytes: 7 },
      { parts: { limit: 2_000, cost: 2 }, bytes: 11 },
    ])('takes few bytes for a request: $parts, $bytes', async ({ parts, bytes }) => {
      const key = await fill(1_000, parts, 3_600_000);
      expect(await witness.llen(key)).toBe(1_000);
      const used = await witness.memory('USAGE', key, 'SAMPLES', 0);
      expect(Number(used) / 1_000).toBeLessThan(bytes);
    });
  });
});
