import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ALGORITHMS } from '../../src/core/store.ts';
import type { RedisClient } from '../../src/stores/redis/client.ts';
import { expectSameAnswers, FORWARD_MS } from '../scenarios/same-answers/run.ts';
import { descriptorOf } from '../support/quotas.ts';
import { ownRedisIsHere } from '../support/redis.ts';
import { startRedisCluster, type TestRedisCluster } from '../support/redis-cluster.ts';
import { addShippedAccount, byShippedAccount } from '../support/shipped-account.ts';
import { connectClient, openMemoryStore, openRedisStore } from '../support/stores.ts';
import { describeQuotaStore } from './quota-store.contract.ts';

const W = 300_000;

describe.skipIf(!ownRedisIsHere)('the cluster store', () => {
  let cluster: TestRedisCluster;
  let client: RedisClient;

  beforeAll(async () => {
    cluster = await startRedisCluster();
    await Promise.all(cluster.nodes.map(addShippedAccount));
    client = await connectClient(byShippedAccount(cluster.url));
  });

  afterAll(async () => {
    client?.disconnect();
    await cluster?.[Symbol.asyncDispose]();
  });

  const open = () => openRedisStore(client);

  describeQuotaStore(open);

  test('gives the same answers as memory', () =>
    expectSameAnswers(
      {
        advanceMs: FORWARD_MS,
        algorithms: ALGORITHMS,
        clients: 4,
        windowsMs: [60_000, 3_600_000],
        bucketLimits: [5],
      },
      () => openMemoryStore(),
      open,
      5_000,
    ));

  describe('a request whose limits lie in several slots', () => {
    /** Each limit has its own partition, so its own slot. */
    function setUp() {
      const { store, key } = open();
      const limit = (partition: string, most: number, cost = 1) =>
        descriptorOf(key('a').replace('{', `{${partition}`), { limit: most, windowMs: W, cost });
      return { store, limit };
    }

    test('is admitted if it fits all of them', async () => {
      const { store, limit } = setUp();
      const { admitted, states } = await store.take([limit('a', 9), limit('b', 2), limit('c', 5)]);
      expect(admitted).toBe(true);
      expect(states.map((state) => state?.remaining)).toEqual([8, 1, 4]);
    });

    test('takes from the narrowest limit first; if that denies, the others are not charged', async () => {
      const { store, limit } = setUp();
      const request = [limit('wide', 9), limit('narrow', 1)];
      await store.take(request);
      const { admitted, states } = await store.take(request);
      expect(admitted).toBe(false);
      // The wide one was not reached.
      expect(states).toEqual([undefined, expect.objectContaining({ remaining: 0 })]);
      expect((await store.take([limit('wide', 9)])).states[0]?.remaining).toBe(7);
    });

    test('keeps the units of a narrower limit if a wider one denies, and never exceeds either', async () => {
      const { store, limit } = setUp();
      for (let i = 0; i < 9; i++) await store.take([limit('wide', 9)]);
      expect((await store.take([limit('narrow', 2), limit('wide', 9)])).admitted).toBe(false);
      expect((await store.take([limit('narrow', 2)])).states[0]?.remaining).toBe(0);
    });

    test('gives units back only after all other slots have admitted it', async () => {
      const { store, limit } = setUp();
      await store.take([limit('refunded', 5, 3)]);
      await store.take([limit('wide', 900, 900)]);
      const request = [limit('refunded', 5, -2), limit('wide', 900), limit('checked', 9, 0)];
      expect((await store.take(request)).admitted).toBe(false);
      expect((await store.take([limit('refunded', 5, 0)])).states[0]?.remaining).toBe(2);
      await store.take([limit('wide', 900, -1)]);
      const { admitted, states } = await store.take(request);
      expect(admitted).toBe(true);
      expect(states.map((state) => state?.remaining)).toEqual([4, 0, 9]);
    });

    test('never exceeds a limit with concurrent requests', async () => {
      const { store, limit } = setUp();
      const requests = Array.from({ length: 300 }, (_, i) =>
        store.take([limit(`client ${i % 100}`, 2), limit('everyone', 50)]),
      );
      const admitted = (await Promise.all(requests)).filter((answer) => answer.admitted);
      expect(admitted.length).toBe(50);
    });
  });

  test('a reset reaches keys of every node', async () => {
    const { store, key } = open();
    const keys = Array.from({ length: 30 }, (_, i) => key().replace('{', `{${i}`));
    const takeAll = () =>
      Promise.all(keys.map((each) => store.take([descriptorOf(each, { limit: 1, windowMs: W })])));
    await takeAll();
    expect((await takeAll()).some(({ admitted }) => admitted)).toBe(false);
    await store.reset(keys);
    expect((await takeAll()).every(({ admitted }) => admitted)).toBe(true);
  });
});
