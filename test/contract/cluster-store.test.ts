import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ALGORITHMS } from '../../src/gateway/core/counting/store.ts';
import { LONG_PERIOD_MS } from '../../src/gateway/core/identity/salts.ts';
import type { RedisClient } from '../../src/gateway/stores/redis/client.ts';
import { DerivedSalts } from '../../src/gateway/stores/salts/salt-sources.ts';
import { expectSameAnswers, FORWARD_MS } from '../scenarios/same-answers/run.ts';
import { checkOn } from '../support/check-on.ts';
import { waitUntil } from '../support/eventually.ts';
import { policySetFrom } from '../support/policies.ts';
import { descriptorOf } from '../support/quotas.ts';
import { callOf, limitingWith } from '../support/rate-limiting.ts';
import { ownRedisIsHere } from '../support/redis.ts';
import { startRedisCluster, type TestRedisCluster } from '../support/redis-cluster.ts';
import { checkRequest } from '../support/requests.ts';
import { addShippedAccount, byShippedAccount } from '../support/shipped-account.ts';
import { connectClient, openMemoryStore, openRedisStore } from '../support/stores.ts';
import { describeQuotaStore } from './quota-store.contract.ts';
import { expectOneName } from './renamed-address.contract.ts';
import { expectNoRefill } from './renamed-bucket.contract.ts';
import { expectLedgerCounts } from './settled-traffic.contract.ts';

const W = 300_000;
const MIDNIGHT_MS = Date.UTC(2026, 10, 22);

interface Retries {
  readonly boundaryMs: number;
  /** From the boundary. */
  readonly fromMs: number;
  readonly toMs: number;
  readonly everyMs: number;
}

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

  test('counts what a ledger of reservations and settlements says', () =>
    expectLedgerCounts(open, 30));

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

    test('gives back what limits that charge afterwards took before a wider one denied', async () => {
      const { store, limit } = setUp();
      const narrow = { ...limit('narrow', 2), givesBack: true as const };
      for (let i = 0; i < 9; i++) await store.take([limit('wide', 9)]);
      expect((await store.take([narrow, limit('wide', 9)])).admitted).toBe(false);
      await waitUntil('the narrow limit has its units back', async () => {
        const { states } = await store.peek([narrow]);
        return states[0]?.remaining === 2;
      });
    });

    test('is settled in every slot, once', async () => {
      const { store, limit } = setUp();
      const request = ['a', 'b', 'c'].map((name) => limit(name, 9));
      const { nowMs } = await store.take(request);
      const parts = request.map(({ key, quota }) => {
        return { key, quota, momentMs: nowMs, reserved: 1, used: 0 };
      });
      const settle = async (some: typeof parts) => {
        const result = await store.settle({ id: 'slots', endsMs: nowMs + W, parts: some });
        return result.parts.map(({ state }) => state);
      };
      // As if the slot of b had failed the first time.
      expect(await settle(parts.filter(({ key }) => !key.includes('{b')))).toEqual([
        'settled',
        'settled',
      ]);
      expect(await settle(parts)).toEqual(['repeated', 'settled', 'repeated']);
      expect((await store.peek(request)).states.map(({ remaining }) => remaining)).toEqual([
        9, 9, 9,
      ]);
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

  test('a token bucket whose names are in two slots answers as if it had kept its name', () =>
    expectNoRefill(open, (key) => key.replace('{', '{renamed'), 60));

  test('a charge takes what is left under both names of a client, in two slots', async () => {
    const { store, key } = open();
    const [old, now] = [key('a'), key('a').replace('{', '{renamed')];
    for (const algorithm of ALGORITHMS.filter((each) => each !== 'fixed-window')) {
      const of = (name: string, cost: number, remainder: 'note' | 'take') =>
        descriptorOf(`${name}.${algorithm}`, {
          limit: 10,
          windowMs: W,
          algorithm,
          cost,
          remainder,
        });
      const both = (cost: number, remainder: 'note' | 'take') => [
        of(old, cost, remainder),
        { ...of(now, cost, remainder), previousKey: of(old, 0, remainder).key },
      ];
      await store.take([of(old, 4, 'note')]);
      await store.take(both(0, 'note'));
      const { admitted, states } = await store.take(both(8, 'take'));
      expect(admitted).toBe(false);
      expect(states.map((state) => state?.taken)).toEqual([6, 6]);
      const { states: left } = await store.peek([of(old, 0, 'note'), of(now, 0, 'note')]);
      // A bucket inherits what the previous name owes.
      const rest = algorithm === 'token-bucket' ? 0 : 4;
      expect(left.map(({ remaining }) => remaining)).toEqual([0, rest]);
    }
  });

  test('a rejected request is counted under both names of a client, in two slots', async () => {
    const { store, key } = open();
    const [old, now] = [key('a'), key('a').replace('{', '{renamed')];
    const of = (name: string) => descriptorOf(name, { limit: 2, windowMs: W, countRejected: true });
    for (let i = 0; i < 2; i++) await store.take([of(old)]);
    const { admitted } = await store.take([of(old), { ...of(now), previousKey: old }]);
    expect(admitted).toBe(false);
    expect((await store.peek([of(now)])).states[0]?.remaining).toBe(1);
  });

  test('limits of addresses decide as if addresses kept their names', () =>
    expectOneName(open, () => openMemoryStore(), { runs: 40, hasSlots: true }));

  describe('when the names of addresses change', () => {
    /** A client that retries all the time. Returns when it was admitted, in ms from a boundary. */
    async function admittedTo(limits: string, { boundaryMs, fromMs, toMs, everyMs }: Retries) {
      const { store, clock } = open();
      const check = checkOn(store, new DerivedSalts(randomUUID()));
      const policies = policySetFrom(`{ version: 1, default: { limits: ${limits} } }`);
      const admitted: number[] = [];
      for (let afterMs = fromMs; afterMs <= toMs; afterMs += everyMs) {
        clock.nowMs = boundaryMs + afterMs;
        const { verdict } = await check(checkRequest(), policies, clock.nowMs);
        if (verdict === 'allow') admitted.push(afterMs);
      }
      return admitted;
    }

    test('denied retries are not counted after midnight', async () => {
      const retries = { boundaryMs: MIDNIGHT_MS, fromMs: -120_000, toMs: 780_000, everyMs: 10_000 };
      const first = [-120_000, -110_000, -100_000, -90_000, -80_000];
      const admitted = [0, 1, 2, 3].flatMap((round) => first.map((ms) => ms + round * W));
      expect(await admittedTo('[5/5min]', retries)).toEqual(admitted.filter((ms) => ms <= 780_000));
    });

    test('denied retries are not counted at the end of 31 days', async () => {
      const hourMs = 3_600_000;
      const retries = {
        boundaryMs: Math.ceil(MIDNIGHT_MS / LONG_PERIOD_MS) * LONG_PERIOD_MS,
        fromMs: -20 * hourMs,
        toMs: 60 * hourMs,
        everyMs: hourMs / 2,
      };
      const first = [-20, -19.5, -19].map((hours) => hours * hourMs);
      const later = first.map((ms) => ms + 48 * hourMs);
      expect(await admittedTo('[3/2d]', retries)).toEqual([...first, ...later]);
    });

    test('requests that a short limit denies use up no longer one', async () => {
      const retries = { boundaryMs: MIDNIGHT_MS, fromMs: 0, toMs: 3_000_000, everyMs: 10_000 };
      const admitted = await admittedTo('[5/5min, 60/1h]', retries);
      expect(admitted).toEqual(
        Array.from({ length: 11 }, (_, round) => [0, 1, 2, 3, 4].map((i) => round * W + i * 10_000))
          .flat()
          .filter((ms) => ms <= 3_000_000),
      );
    });

    test('denied calls of the rate limit service are not counted after midnight', async () => {
      const { store, clock } = open();
      const limiting = limitingWith(
        'domain: d\ndescriptors: [{ key: ip, rate_limit: { unit: minute, requests_per_unit: 2 } }]',
        { store, windows: 'sliding' },
      );
      const admitted: number[] = [];
      for (let afterMs = -30_000; afterMs <= 60_000; afterMs += 5_000) {
        clock.nowMs = MIDNIGHT_MS + afterMs;
        limiting.clock.nowMs = clock.nowMs;
        if (!(await limiting.answer(callOf('d', ['ip=203.0.113.7']))).isOverLimit)
          admitted.push(afterMs);
      }
      expect(admitted).toEqual([-30_000, -25_000, 30_000, 35_000]);
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
