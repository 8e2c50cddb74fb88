import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Calendar, type CalendarUnit } from '../../src/gateway/core/counting/calendar.ts';
import {
  ALGORITHMS,
  type Algorithm,
  type Quota,
  type TakeResult,
} from '../../src/gateway/core/counting/store.ts';
import { createInFlight, RedisStore } from '../../src/gateway/stores/redis/redis-store.ts';
import { sampleKeyspace } from '../../src/gateway/stores/redis/server-state.ts';
import {
  EXPIRING_TRAFFICS,
  expectSameAnswers,
  FORWARD_MS,
  TRAFFICS,
} from '../scenarios/same-answers/run.ts';
import { waitUntil } from '../support/eventually.ts';
import { calendarQuota, descriptorOf } from '../support/quotas.ts';
import { redisIsHere, startRedis, type TestRedis } from '../support/redis.ts';
import { addShippedAccount, byShippedAccount } from '../support/shipped-account.ts';
import {
  type Connected,
  connectStore,
  openExpiringStore,
  openMemoryStore,
  openRedisStore,
  WAYS,
} from '../support/stores.ts';
import { describeQuotaStore } from './quota-store.contract.ts';
import { expectOneName } from './renamed-address.contract.ts';
import { expectLedgerCounts, expectSameSettlements } from './settled-traffic.contract.ts';

const fromRoot = (path: string) => new URL(`../../${path}`, import.meta.url);

/** Of all properties together; `npm run prove -- same-answers` plays ten times as many. */
const TURNS = 12_000;

describe.skipIf(!redisIsHere).each(WAYS)('the Redis store over %s', (way) => {
  let redis: TestRedis;
  let connected: Connected;
  let witness: Redis;

  beforeAll(async () => {
    redis = await startRedis();
    witness = new Redis(redis.url);
    await addShippedAccount(redis);
    connected = await connectStore(byShippedAccount(redis.url), { way });
  });

  afterAll(async () => {
    connected?.disconnect();
    witness?.disconnect();
    await redis?.[Symbol.asyncDispose]();
  });

  const open = () => openRedisStore(connected.client, connected.connection);

  describeQuotaStore(open);

  test('limits of addresses decide as if addresses kept their names', () =>
    expectOneName(open, () => openMemoryStore(), { runs: 40, hasSlots: false }));

  test('counts what a ledger of reservations and settlements says', () =>
    expectLedgerCounts(open, 100));

  test('memory and Redis settle alike, also if the clock is set back', () =>
    expectSameSettlements(() => openMemoryStore(), open, 60));

  describe('memory and Redis give the same answers to random traffic', () => {
    test.each(TRAFFICS)('$name', ({ traffic, share }) =>
      expectSameAnswers(traffic, () => openMemoryStore(), open, share * TURNS),
    );
  });

  describe('memory and Redis give the same answers while keys expire', () => {
    let any: Connected;
    beforeAll(async () => {
      any = await connectStore(redis.url, { way });
      // A script that the server does not know yet is sent twice, and would run after time has passed.
      const { store, key } = openRedisStore(any.client, any.connection);
      const known = [descriptorOf(key(), { limit: 1, windowMs: 60_000 })];
      await store.take(known);
      await store.peek(known);
    });
    afterAll(() => any?.disconnect());
    const openExpiring = () => openExpiringStore(any);

    test.each(EXPIRING_TRAFFICS)('$name', ({ traffic }) =>
      expectSameAnswers(traffic, () => openMemoryStore(), openExpiring, TURNS / 8),
    );

    test('after a settlement in a window of 31 days, nothing seems to lie in the future', async () => {
      const { store, clock, key } = openExpiring();
      const descriptor = descriptorOf(key(), { limit: 20, windowMs: 31 * 86_400_000 });
      const startMs = clock.nowMs;
      await store.take([descriptor]);
      clock.nowMs = startMs + 30 * 86_400_000;
      const { nowMs: momentMs } = await store.take([descriptor]);
      const { quota } = descriptor;
      const part = { key: key(), quota, momentMs, reserved: 1, used: 0 };
      await store.settle({ id: 'month', endsMs: momentMs + 60_000, parts: [part] });
      clock.nowMs = startMs + 34 * 86_400_000;
      expect((await store.peek([descriptor])).states[0]).toMatchObject({ remaining: 20 });
    });

    test.each([1, 5])('after a refund in a window of 31 days: cost %i', async (cost) => {
      const { store, clock, key } = openExpiring();
      const month = { limit: 20, windowMs: 31 * 86_400_000 };
      const takeAtDay = async (day: number, units: number) => {
        clock.nowMs = startMs + day * 86_400_000;
        return (await store.take([descriptorOf(key(), { ...month, cost: units })])).states[0];
      };
      const startMs = clock.nowMs;
      for (let taken = 0; taken < 15; taken += cost) await takeAtDay(0, cost);
      expect(await takeAtDay(20, 5)).toMatchObject({ remaining: 0 });
      expect(await takeAtDay(20, -5)).toMatchObject({ remaining: 5 });
      expect(await takeAtDay(34, 0)).toMatchObject({ remaining: 20 });
    });
  });

  test('requests of one call leave and get what they would in a call each', async () => {
    const anyKey = fc.constantFrom('a', 'b');
    const limit = fc.integer({ min: 1, max: 9 });
    const cost = fc.constantFrom(1, 1, 1, 2, 3, 0, -1, -2);
    const remainder = fc.constantFrom(
      'none' as const,
      'none' as const,
      'note' as const,
      'take' as const,
    );
    const one = fc.record({ anyKey, algorithm: fc.constantFrom(...ALGORITHMS), limit, cost });
    const request = fc.record({ one, remainder, countRejected: fc.boolean() });
    const batches = fc.array(fc.array(request, { minLength: 1, maxLength: 8 }), { maxLength: 12 });
    await fc.assert(
      fc.asyncProperty(batches, async (all) => {
        const [together, apart] = [open(), open()];
        const dumps = async ({ key }: typeof together) =>
          Promise.all(
            ALGORITHMS.flatMap((algorithm) =>
              ['a', 'b'].flatMap((name) =>
                ['', ':calls'].map((end) => witness.dumpBuffer(key(`${name}:${algorithm}`) + end)),
              ),
            ),
          );
        for (const batch of all) {
          together.clock.nowMs += 20_000;
          apart.clock.nowMs += 20_000;
          const descriptorIn = ({ key }: typeof together, { one, ...parts }: (typeof batch)[0]) => {
            const isFixed = one.algorithm === 'fixed-window';
            const { remainder } = parts;
            const isCharged = !isFixed && !parts.countRejected && remainder !== 'none';
            const charged = isCharged ? { remainder } : {};
            const name = key(`${one.anyKey}:${one.algorithm}`);
            const { anyKey: _, ...quota } = one;
            const { countRejected } = parts;
            return descriptorOf(name, { ...quota, ...charged, countRejected, windowMs: 300_000 });
          };
          const answers = batch.map((each) => together.store.take([descriptorIn(together, each)]));
          const single = [];
          for (const each of batch)
            single.push(await apart.store.take([descriptorIn(apart, each)]));
          expect(await Promise.all(answers)).toEqual(single);
        }
        expect(await dumps(together)).toEqual(await dumps(apart));
      }),
      { numRuns: 60 },
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
      { numRuns: 150 },
    );
  });

  describe('a settlement', () => {
    const W = 300_000;
    async function reserved(count: number, algorithm: Algorithm = 'sliding-window-log') {
      const { store, clock, key } = open();
      const descriptor = descriptorOf(key(), { limit: 9, windowMs: W, algorithm });
      const moments: number[] = [];
      for (let i = 0; i < count; i++) {
        // More than a sixteenth of the window.
        clock.nowMs += 20_000;
        moments.push((await store.take([descriptor])).nowMs);
      }
      const { quota } = descriptor;
      const settle = (momentMs = 0) => {
        const part = { key: key(), quota, momentMs, reserved: 1, used: 0 };
        return store.settle({ id: `s${momentMs}`, endsMs: clock.nowMs + 60_000, parts: [part] });
      };
      return { store, clock, key, moments, settle };
    }

    test('leaves a mark until it ends, and is not counted as a window', async () => {
      await witness.flushall();
      const { key, moments, settle } = await reserved(1);
      const sample = async () => (await sampleKeyspace(connected.client, true)).activeWindows;
      expect(await sample()).toBe(1);
      await settle(moments[0]);
      const mark = key().replace(/}.*/, `}:settled:s${moments[0]}`);
      expect(await witness.exists(key())).toBe(0);
      const ttlMs = await witness.pttl(mark);
      expect(ttlMs).toBeGreaterThan(30_000);
      expect(ttlMs).toBeLessThanOrEqual(60_000);
      expect(await witness.dbsize()).toBe(1);
      expect(await sample()).toBe(0);
    });

    test('after which a log is shorter lets it expire with the newest request that is left', async () => {
      const { key, moments, settle } = await reserved(5);
      const lifeMs = (17 / 16) * W;
      await settle(moments[4]);
      const expectLife = async (ageMs: number) => {
        const ttlMs = await witness.pttl(key());
        expect(ttlMs).toBeGreaterThan(lifeMs - ageMs - 5_000);
        expect(ttlMs).toBeLessThanOrEqual(lifeMs - ageMs);
      };
      await expectLife(20_000);
      await settle(moments[1]);
      await expectLife(20_000);
      await settle(moments[3]);
      await expectLife(40_000);
      expect(await witness.llen(key())).toBe(2);
    });

    test('changes nothing after a reset, whose moment is kept for settlements only', async () => {
      const { store, clock, key, moments, settle } = await reserved(1);
      const resetMs = clock.nowMs;
      await store.reset([key(), key('b')], [key()]);
      expect(await witness.get(`${key()}:reset`)).toBe(String(resetMs));
      expect(await witness.exists(`${key('b')}:reset`)).toBe(0);
      const ttlMs = await witness.pttl(`${key()}:reset`);
      expect(ttlMs).toBeGreaterThan(86_390_000);
      expect(ttlMs).toBeLessThanOrEqual(86_400_000);
      expect((await settle(moments[0])).parts).toEqual([{ state: 'reset', cut: 0 }]);
    });

    test('goes by the clock of the server', async () => {
      const { key } = open();
      const own = new RedisStore({
        ...connected,
        inFlight: createInFlight(10),
        deadlineMs: 5_000,
      });
      const descriptor = descriptorOf(key(), { limit: 9, windowMs: W });
      const { nowMs: momentMs } = await own.take([descriptor]);
      const { quota } = descriptor;
      const part = { key: key(), quota, momentMs, reserved: 1, used: 0 };
      const endsMs = momentMs + 60_000;
      await own.reset([key('b')], [key('b')]);
      const parts = [part, { ...part, key: key('b') }];
      const result = await own.settle({ id: 'own', endsMs, parts });
      expect(result.parts.map(({ state }) => state)).toEqual(['settled', 'reset']);
      const late = await own.settle({ id: 'late', endsMs: momentMs, parts: [part] });
      expect(late.parts[0]?.state).toBe('ended');
    });
  });

  test.each(ALGORITHMS)('every key expires when its window has ended: %s', async (algorithm) => {
    const { store, clock, key } = open();
    const windowMs = 60_000;
    clock.nowMs = Math.ceil(clock.nowMs / windowMs) * windowMs;
    const longestMs = {
      'sliding-window-log': (17 / 16) * windowMs,
      // It counts in the next window, too.
      'sliding-window-counter': 2 * windowMs,
      'token-bucket': windowMs,
      'fixed-window': (17 / 16) * windowMs,
    };
    await store.take([descriptorOf(key(), { limit: 1, windowMs, algorithm })]);
    const ttlMs = await witness.pttl(key());
    expect(ttlMs).toBeGreaterThan(windowMs - 1_000);
    expect(ttlMs).toBeLessThanOrEqual(longestMs[algorithm]);
  });

  test.each(ALGORITHMS)('no key expires while its quota is not full: %s', async (algorithm) => {
    const { key } = open();
    const windowMs = 320;
    const limit = algorithm === 'token-bucket' ? 3 : 100_000;
    // On the server's clock, so that the time to live and the entries use the same clock.
    const own = new RedisStore({
      ...connected,
      inFlight: createInFlight(10),
      deadlineMs: 5_000,
    });
    const takeOne = (cost: number) =>
      own.take([descriptorOf(key(), { algorithm, limit, windowMs, burst: 100_000, cost })]);
    const costs = [1, 2, -1];
    const { nowMs: startMs } = await takeOne(1);
    for (let nowMs = startMs, i = 0; nowMs < startMs + 2 * windowMs; i++) {
      const sentMs = performance.now();
      const { states, ...taken } = await takeOne(costs[i % costs.length] as number);
      const ttlMs = await witness.pttl(key());
      // Each of the two clocks rounds to milliseconds.
      const passedMs = performance.now() - sentMs + 2;
      const fullAfterMs = states[0]?.resetAfterMs ?? Number.NaN;
      expect(Math.max(0, ttlMs)).toBeGreaterThanOrEqual(fullAfterMs - passedMs);
      nowMs = taken.nowMs;
    }
  });

  test('a bucket expires in the millisecond in which its debt is paid, not before', async () => {
    const { store, key } = open();
    const thirds = { algorithm: 'token-bucket' as const, limit: 3, windowMs: 100_000 };
    // The server counts down at once, so what is read is often a millisecond less.
    await waitUntil('the whole time to live was read', async () => {
      const name = key(randomUUID());
      await store.take([descriptorOf(name, thirds)]);
      return (await witness.pttl(name)) === 33_334;
    });
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

  describe('a window by the calendar, if the clock of a gateway differs from that of Redis', () => {
    /** Two gateways count on one Redis. `offMs` is how far their clocks are ahead of it. */
    function setUp(unit: CalendarUnit, ...offMs: readonly [number, number]) {
      const { clock, key } = open();
      const quota = calendarQuota(3, unit, 'Europe/Zurich');
      const stores = offMs.map(
        (ahead) =>
          new RedisStore({
            ...connected,
            inFlight: createInFlight(10),
            deadlineMs: 5_000,
            now: () => clock.nowMs,
            ownNow: () => clock.nowMs + ahead,
          }),
      );
      const takeAt = async (moment: string, gateway: number, parts: Partial<Quota> = {}) => {
        clock.nowMs = Date.parse(moment);
        const own = { ...quota, ...parts };
        return stores[gateway]?.take([{ key: key(), quota: own, cost: 1 }]) as Promise<TakeResult>;
      };
      return { key, takeAt };
    }
    const MINUTE_MS = 60_000;

    test.each([
      ['ahead', 5 * MINUTE_MS],
      ['behind', -5 * MINUTE_MS],
      ['a month ahead', 31 * 1_440 * MINUTE_MS],
      ['a month behind', -30 * 1_440 * MINUTE_MS],
    ])('is that of Redis: %s', async (_, offMs) => {
      const { takeAt } = setUp('month', 0, offMs);
      for (let i = 0; i < 3; i++) {
        const { admitted, states } = await takeAt('2026-11-30T22:59Z', i % 2);
        expect(admitted).toBe(true);
        expect(states[0]?.resetAfterMs).toBe(MINUTE_MS);
      }
      expect((await takeAt('2026-11-30T22:59:59.999Z', 0)).admitted).toBe(false);
      expect((await takeAt('2026-11-30T22:59:59.999Z', 1)).admitted).toBe(false);
      for (let i = 0; i < 3; i++) {
        const { admitted, states } = await takeAt('2026-11-30T23:00Z', i % 2);
        expect(admitted).toBe(true);
        expect(states[0]?.resetAfterMs).toBe(31 * 1_440 * MINUTE_MS);
      }
      expect((await takeAt('2026-11-30T23:00Z', 1)).admitted).toBe(false);
    });

    test.each([
      ['ahead', 400],
      ['behind', -400],
    ])('ends, and admits no more than the limit, with a clock far %s', async (_, days) => {
      const { takeAt } = setUp('day', 0, days * 1_440 * MINUTE_MS);
      for (let i = 0; i < 3; i++) {
        const { admitted, states } = await takeAt('2026-11-23T22:00Z', 1);
        expect(admitted).toBe(true);
        expect(states[0]?.resetAfterMs).toBeGreaterThan(0);
        expect(states[0]?.resetAfterMs).toBeLessThanOrEqual(1_440 * MINUTE_MS);
      }
      const { admitted, states } = await takeAt('2026-11-23T22:00Z', 1);
      expect(admitted).toBe(false);
      const afterMs = Date.parse('2026-11-23T22:00Z') + (states[0]?.retryAfterMs ?? 0);
      expect((await takeAt(new Date(afterMs).toISOString(), 1)).admitted).toBe(true);
    });

    test('is one window for gateways whose rules for the zone differ', async () => {
      const { takeAt } = setUp('day', 0, 0);
      const hourLater = new Calendar('day', 'Europe/London');
      for (let i = 0; i < 3; i++) {
        const parts = i % 2 === 0 ? {} : { calendar: hourLater };
        expect((await takeAt('2026-11-23T12:00Z', 0, parts)).admitted).toBe(true);
      }
      expect((await takeAt('2026-11-23T12:00Z', 0)).admitted).toBe(false);
      const later = { calendar: hourLater };
      expect((await takeAt('2026-11-23T12:00Z', 0, later)).admitted).toBe(false);
    });

    test('expires a sixteenth of a window after it ended', async () => {
      const { key, takeAt } = setUp('day', 0, 0);
      await takeAt('2026-11-23T22:59Z', 0);
      const sixteenthMs = 90 * MINUTE_MS;
      const ttlMs = await witness.pttl(key());
      expect(ttlMs).toBeGreaterThan(sixteenthMs);
      expect(ttlMs).toBeLessThanOrEqual(sixteenthMs + MINUTE_MS);
    });
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
    ])('never has more entries than the limit: %j', async (parts) => {
      // One more for the base.
      expect(await witness.llen(await fill(500, parts))).toBeLessThanOrEqual(parts.limit + 1);
    });
    test.each([
      { parts: { limit: 1_000 }, bytes: 7 },
      { parts: { limit: 2_000, cost: 2 }, bytes: 11 },
    ])('needs few bytes per request: $parts, $bytes', async ({ parts, bytes }) => {
      const key = await fill(1_000, parts, 3_600_000);
      expect(await witness.llen(key)).toBe(1_000);
      const used = await witness.memory('USAGE', key, 'SAMPLES', 0);
      expect(Number(used) / 1_000).toBeLessThan(bytes);
    });
  });
});
