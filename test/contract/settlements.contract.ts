/** What every store must do when it learns what requests turned out to cost. */
import { describe, expect, test } from 'vitest';
import type { SettledPart } from '../../src/gateway/core/counting/settlement.ts';
import {
  ALGORITHMS,
  type Algorithm,
  MAX_FIXED_UNITS,
} from '../../src/gateway/core/counting/store.ts';
import { calendarQuota, descriptorOf, quotaOf } from '../support/quotas.ts';
import type { StoreUnderTest } from './quota-store.contract.ts';

const W = 300_000;
const LIFE_MS = 900_000;
/** Counters with units; a log counts requests only. */
const OF_UNITS = ALGORITHMS.filter((each) => each !== 'sliding-window-log');

interface Reserved {
  readonly id: string;
  readonly part: Omit<SettledPart, 'used'>;
}

function setUp(open: () => StoreUnderTest, algorithm: Algorithm, limit = 10) {
  const { store, clock, key } = open();
  clock.nowMs = Math.ceil(clock.nowMs / W) * W;
  const quota = quotaOf({ algorithm, limit, windowMs: W });
  let reservations = 0;
  const reserve = async (units: number, name = 'a'): Promise<Reserved> => {
    const { admitted, nowMs } = await store.take([{ key: key(name), quota, cost: units }]);
    expect(admitted).toBe(true);
    const part = { key: key(name), quota, momentMs: nowMs, reserved: units };
    return { id: `${key('')}${reservations++}`.replaceAll(/[{}:]/g, ''), part };
  };
  const settle = ({ id, part }: Reserved, used: number) =>
    store.settle({ id, endsMs: part.momentMs + LIFE_MS, parts: [{ ...part, used }] });
  const left = async (name = 'a') =>
    (await store.peek([{ key: key(name), quota, cost: 1 }])).states[0]?.remaining;
  return { store, clock, key, quota, reserve, settle, left };
}

const SETTLED = { parts: [{ state: 'settled', cut: 0 }] };
const GONE = { parts: [{ state: 'gone', cut: 0 }] };
const REPEATED = { parts: [{ state: 'repeated', cut: 0 }] };
const RESET = { parts: [{ state: 'reset', cut: 0 }] };
const ENDED = { parts: [{ state: 'ended', cut: 0 }] };

export function describeSettlements(open: () => StoreUnderTest): void {
  describe('settlements', () => {
    describe.each(ALGORITHMS)('%s', (algorithm) => {
      test('give back what was reserved, once', async () => {
        const { reserve, settle, left } = setUp(open, algorithm);
        const [first] = [await reserve(1), await reserve(1)];
        expect(await settle(first, 0)).toEqual(SETTLED);
        expect(await left()).toBe(9);
        for (const used of [0, 0, 1, 7]) expect(await settle(first, used)).toEqual(REPEATED);
        expect(await left()).toBe(9);
      });

      test('change nothing if the cost was what was reserved', async () => {
        const { reserve, settle, left } = setUp(open, algorithm);
        const first = await reserve(1);
        expect(await settle(first, 1)).toEqual(SETTLED);
        expect(await left()).toBe(9);
        expect(await settle(first, 0)).toEqual(REPEATED);
      });

      test('do nothing once their time has ended', async () => {
        const { store, clock, reserve, left } = setUp(open, algorithm);
        const { id, part } = await reserve(1);
        const early = { id, endsMs: part.momentMs + 5, parts: [{ ...part, used: 0 }] };
        clock.nowMs += 5;
        expect(await store.settle(early)).toEqual(ENDED);
        clock.nowMs -= 1;
        expect(await left()).toBe(9);
        expect(await store.settle(early)).toEqual(SETTLED);
      });

      test('do nothing if the counter was reset after the reservation', async () => {
        const { store, clock, key, reserve, settle, left } = setUp(open, algorithm);
        const [first, same] = [await reserve(1), await reserve(1)];
        clock.nowMs += 10;
        await store.reset([key()], [key()]);
        const atOnce = await reserve(1);
        clock.nowMs += 10;
        const after = await reserve(1);
        expect(await settle(first, 0)).toEqual(RESET);
        expect(await settle(same, 9)).toEqual(RESET);
        expect(await settle(atOnce, 0)).toEqual(RESET);
        expect(await left()).toBe(8);
        expect(await settle(after, 0)).toEqual(SETTLED);
        expect(await left()).toBe(9);
      });

      test('find nothing to give back after two windows', async () => {
        const { clock, reserve, settle, left } = setUp(open, algorithm);
        const first = await reserve(1);
        clock.nowMs += 2 * W;
        await reserve(1);
        expect(await settle(first, 0)).toEqual(GONE);
        expect(await left()).toBe(9);
      });

      test('find nothing in a counter that does not exist', async () => {
        const { store, key, reserve, settle, left } = setUp(open, algorithm);
        const first = await reserve(1);
        await store.reset([key()]);
        expect(await settle(first, 0)).toEqual(GONE);
        expect(await left()).toBe(10);
      });

      test('of one turn are each counted', async () => {
        const { reserve, settle, left } = setUp(open, algorithm, 1_000);
        const all: Reserved[] = [];
        // More keys than one call of a script has.
        for (let i = 0; i < 90; i++) all.push(await reserve(1));
        const results = await Promise.all(all.map((each, i) => settle(each, i % 3 === 0 ? 1 : 0)));
        expect(results).toEqual(all.map(() => SETTLED));
        expect(await left()).toBe(970);
      });
    });

    test('change several counters by one settlement', async () => {
      const { store, key, quota, reserve, left } = setUp(open, 'sliding-window-counter');
      const [{ id, part }, b, c] = [await reserve(3), await reserve(4, 'b'), await reserve(5, 'c')];
      await store.reset([key('c')], [key('c')]);
      const parts = [
        { ...part, used: 1 },
        { ...b.part, used: 6 },
        { ...c.part, used: 5 },
        { ...part, key: key('d'), quota, used: 0 },
      ];
      const states = ['settled', 'settled', 'reset', 'gone'];
      const settlement = { id, endsMs: part.momentMs + LIFE_MS, parts };
      expect(await store.settle(settlement)).toEqual({
        parts: states.map((state) => ({ state, cut: 0 })),
      });
      expect(await store.settle(settlement)).toEqual({ parts: parts.map(() => REPEATED.parts[0]) });
      const names = ['a', 'b', 'c', 'd'];
      expect(await Promise.all(names.map((name) => left(name)))).toEqual([9, 4, 10, 10]);
    });

    describe('a log', () => {
      test('gives back the request of that millisecond, wherever it is', async () => {
        const { clock, reserve, settle, left } = setUp(open, 'sliding-window-log', 9);
        const all: Reserved[] = [];
        for (let i = 0; i < 9; i++) {
          clock.nowMs += 1_000;
          all.push(await reserve(1));
        }
        for (const place of [4, 8, 0, 1, 7]) {
          expect(await settle(all[place] as Reserved, 0)).toEqual(SETTLED);
        }
        // Those of seconds 3, 4, 6 and 7 are left.
        clock.nowMs = (all[3] as Reserved).part.momentMs + W - 1;
        expect(await left()).toBe(6);
        clock.nowMs = (all[6] as Reserved).part.momentMs + W - 1;
        expect(await left()).toBe(8);
        clock.nowMs++;
        expect(await left()).toBe(9);
      });

      test('admits five failures in five minutes, however many successes are refunded late', async () => {
        const { clock, key, quota, store, reserve, settle } = setUp(open, 'sliding-window-log', 5);
        const start = clock.nowMs;
        const admit = async () => (await store.take([{ key: key(), quota, cost: 1 }])).admitted;
        // Four successes that are under way, then failures: today's refund would take the failures out.
        const successes: Reserved[] = [];
        for (let i = 0; i < 4; i++) successes.push(await reserve(1));
        clock.nowMs = start + 10_000;
        expect(await admit()).toBe(true);
        let failures = 1;
        for (const success of successes) {
          clock.nowMs += 10_000;
          expect(await settle(success, 0)).toEqual(SETTLED);
          if (await admit()) failures++;
        }
        expect(failures).toBe(5);
        for (clock.nowMs += 10_000; clock.nowMs < start + 110_000; clock.nowMs += 10_000)
          expect(await admit()).toBe(false);
        // The first failure leaves the window, no earlier.
        clock.nowMs = start + 10_000 + W - 1;
        expect(await admit()).toBe(false);
        clock.nowMs++;
        expect(await admit()).toBe(true);
      });

      test('gives back one of several requests of a millisecond', async () => {
        const { clock, reserve, settle, left } = setUp(open, 'sliding-window-log');
        const all = [await reserve(1), await reserve(1), await reserve(1)];
        clock.nowMs += 1_000;
        await reserve(1);
        expect(await settle(all[1] as Reserved, 0)).toEqual(SETTLED);
        expect(await left()).toBe(7);
        expect(await settle(all[0] as Reserved, 0)).toEqual(SETTLED);
        expect(await settle(all[2] as Reserved, 0)).toEqual(SETTLED);
        expect(await left()).toBe(9);
      });

      test('keeps requests that may have cost more than one unit', async () => {
        const { store, clock, key, quota, reserve, settle, left } = setUp(
          open,
          'sliding-window-log',
          20,
        );
        const plain = [await reserve(1), await reserve(1)];
        clock.nowMs += 1_000;
        await store.take([{ key: key(), quota, cost: 3 }]);
        const later = await reserve(1);
        expect(await settle(plain[0] as Reserved, 0)).toEqual(SETTLED);
        expect(await left()).toBe(15);
        expect(await settle(later, 0)).toEqual(GONE);
        expect(await left()).toBe(15);
        expect(await settle(plain[1] as Reserved, 0)).toEqual(SETTLED);
        expect(await left()).toBe(16);
        // A log that is empty begins anew.
        clock.nowMs += W;
        expect(await settle(await reserve(1), 0)).toEqual(SETTLED);
        expect(await left()).toBe(20);
      });

      test('gives nothing back for a reservation of several units, and takes no surplus', async () => {
        const { reserve, settle, left } = setUp(open, 'sliding-window-log');
        expect(await settle(await reserve(3), 1)).toEqual(GONE);
        expect(await settle(await reserve(1), 5)).toEqual({
          parts: [{ state: 'settled', cut: 4 }],
        });
        expect(await left()).toBe(6);
      });

      test('forgets what the clock moved when it was set back', async () => {
        const { clock, reserve, settle, left } = setUp(open, 'sliding-window-log');
        const future = await reserve(1);
        clock.nowMs -= 5_000;
        await reserve(1);
        expect(await settle(future, 0)).toEqual(GONE);
        expect(await left()).toBe(8);
      });
    });

    describe('a counter', () => {
      test('gives back to the window of the moment', async () => {
        const { clock, reserve, settle, left } = setUp(open, 'sliding-window-counter');
        const before = await reserve(6);
        clock.nowMs += W;
        const now = await reserve(3);
        // Half of the previous window counts.
        clock.nowMs += W / 2;
        expect(await left()).toBe(4);
        expect(await settle(before, 2)).toEqual(SETTLED);
        expect(await left()).toBe(6);
        expect(await settle(now, 0)).toEqual(SETTLED);
        expect(await left()).toBe(9);
      });

      test('gives nothing back of windows before the previous one', async () => {
        const { clock, reserve, settle, left } = setUp(open, 'sliding-window-counter');
        const before = await reserve(6);
        clock.nowMs += W;
        await reserve(2);
        clock.nowMs += W;
        expect(await settle(before, 0)).toEqual(GONE);
        expect(await left()).toBe(8);
      });
    });

    test('a bucket gives back what has not flowed back yet', async () => {
      const { clock, reserve, settle, left } = setUp(open, 'token-bucket');
      const units = W / 10;
      const [first, second] = [await reserve(4), await reserve(4)];
      clock.nowMs += 3 * units;
      expect(await left()).toBe(5);
      // One of the four can still be given back.
      expect(await settle(first, 0)).toEqual(SETTLED);
      expect(await left()).toBe(6);
      clock.nowMs += units;
      expect(await settle(second, 1)).toEqual(GONE);
      expect(await left()).toBe(7);
    });

    test('a bucket gives back no more than the difference', async () => {
      const { clock, reserve, settle, left } = setUp(open, 'token-bucket');
      const first = await reserve(8);
      clock.nowMs += W / 10;
      expect(await settle(first, 6)).toEqual(SETTLED);
      expect(await left()).toBe(5);
    });

    describe('a fixed window', () => {
      test('gives back while the window of the moment lasts', async () => {
        const { clock, reserve, settle, left } = setUp(open, 'fixed-window');
        const [first, second] = [await reserve(4), await reserve(3)];
        clock.nowMs += W - 1;
        expect(await settle(first, 0)).toEqual(SETTLED);
        expect(await left()).toBe(7);
        clock.nowMs++;
        await reserve(5);
        expect(await settle(second, 0)).toEqual(GONE);
        expect(await left()).toBe(5);
      });

      test('of a calendar ends when its month does', async () => {
        const { store, clock, key } = open();
        const quota = calendarQuota(10, 'month', 'Europe/Zurich');
        const take = { key: key(), quota, cost: 4 };
        const left = async () => (await store.peek([take])).states[0]?.remaining;
        clock.nowMs = Date.parse('2026-11-30T22:59:00Z');
        const part = { key: key(), quota, momentMs: clock.nowMs, reserved: 4, used: 1 };
        const endsMs = clock.nowMs + LIFE_MS;
        await store.take([take]);
        await store.take([take]);
        expect(await store.settle({ id: 'month1', endsMs, parts: [part] })).toEqual(SETTLED);
        expect(await left()).toBe(5);
        clock.nowMs = Date.parse('2026-11-30T23:00:00Z');
        expect(await store.settle({ id: 'month2', endsMs, parts: [part] })).toEqual(GONE);
        expect(await left()).toBe(10);
        const more = { ...part, used: 7 };
        expect(await store.settle({ id: 'month3', endsMs, parts: [more] })).toEqual(SETTLED);
        expect(await left()).toBe(7);
      });

      test('counts as far as numbers are exact', async () => {
        const { store, clock, key } = open();
        const limit = 2 ** 50;
        const quota = quotaOf({ algorithm: 'fixed-window', limit, windowMs: W });
        const endsMs = clock.nowMs + LIFE_MS;
        const part = { key: key(), quota, momentMs: clock.nowMs, reserved: 1, used: limit + 1 };
        await store.take([{ key: key(), quota, cost: 1 }]);
        const cuts: (number | undefined)[] = [];
        for (const i of [1, 2, 3, 4, 5]) {
          const { parts } = await store.settle({ id: `big${i}`, endsMs, parts: [part] });
          cuts.push(parts[0]?.cut);
        }
        expect(cuts).toEqual([0, 0, 0, 1, MAX_FIXED_UNITS / 4]);
      });
    });

    describe.each(OF_UNITS)('a surplus: %s', (algorithm) => {
      test('counts now, and may go beyond the limit by the limit', async () => {
        const { reserve, settle, left, store, key, quota } = setUp(open, algorithm);
        const [first, second] = [await reserve(2), await reserve(2)];
        expect(await settle(first, 5)).toEqual(SETTLED);
        expect(await left()).toBe(3);
        expect(await settle(second, 15)).toEqual({ parts: [{ state: 'settled', cut: 3 }] });
        expect(await left()).toBe(0);
        const { admitted } = await store.take([{ key: key(), quota, cost: 1 }]);
        expect(admitted).toBe(false);
      });

      test('is paid with the next quota', async () => {
        const { clock, reserve, settle, left } = setUp(open, algorithm);
        const first = await reserve(8);
        clock.nowMs += W - 1;
        expect(await settle(first, 18)).toEqual(SETTLED);
        expect(await left()).toBe(0);
        clock.nowMs++;
        expect(await left()).toBe(algorithm === 'fixed-window' ? 10 : 0);
        clock.nowMs += 2 * W;
        expect(await left()).toBe(10);
      });

      test('counts for a reservation whose units are gone', async () => {
        const { clock, reserve, settle, left } = setUp(open, algorithm);
        const first = await reserve(1);
        clock.nowMs += 2 * W;
        expect(await settle(first, 4)).toEqual(SETTLED);
        expect(await left()).toBe(7);
      });

      test('is as large as the largest number of an application', async () => {
        const { reserve, settle, left } = setUp(open, algorithm);
        const used = Number.MAX_SAFE_INTEGER;
        expect(await settle(await reserve(1), used)).toEqual({
          parts: [{ state: 'settled', cut: used - 1 - 10 }],
        });
        expect(await left()).toBe(0);
      });

      test('keeps the count exact, however many there are', async () => {
        const { store, clock, key } = open();
        clock.nowMs = Math.ceil(clock.nowMs / W) * W;
        const limit = algorithm === 'fixed-window' ? 2 ** 32 - 1 : 1_000_000;
        const windowMs = 2_000_000_000;
        const quota = quotaOf({ algorithm, limit, windowMs });
        const endsMs = clock.nowMs + LIFE_MS;
        const part = { key: key(), quota, momentMs: clock.nowMs, reserved: 1, used: limit };
        const { states } = await store.take([{ key: key(), quota, cost: 1, givesBack: true }]);
        expect(states[0]?.remaining).toBe(limit - 1);
        let counted = 1;
        for (let i = 0; i < 5; i++) {
          const { parts } = await store.settle({ id: `many${i}`, endsMs, parts: [part] });
          counted += limit - 1 - (parts[0]?.cut ?? 0);
        }
        if (algorithm !== 'fixed-window') expect(counted).toBe(Math.floor(2 ** 52 / windowMs));
        const peeked = await store.peek([{ key: key(), quota, cost: 1, givesBack: true }]);
        expect(peeked.states[0]?.remaining).toBe(0);
      });
    });

    test('a bucket holds as many units as fit', async () => {
      const { store, key } = open();
      const [limit, windowMs] = [2_000_000, W];
      const burst = 5 * limit;
      const quota = quotaOf({ algorithm: 'token-bucket', limit, burst, windowMs });
      const { states } = await store.take([{ key: key(), quota, cost: burst }]);
      expect(states[0]).toMatchObject({ remaining: 0, resetAfterMs: 5 * windowMs });
      const again = await store.take([{ key: key(), quota, cost: burst }]);
      expect(again.states[0]).toMatchObject({ remaining: 0, retryAfterMs: 5 * windowMs });
      const peeked = await store.peek([{ key: key(), quota, cost: 1 }]);
      expect(peeked.states[0]?.resetAfterMs).toBe(5 * windowMs);
    });

    test.each(OF_UNITS)('no count goes below zero: %s', async (algorithm) => {
      const { store, clock, key, quota, reserve, settle, left } = setUp(open, algorithm);
      const first = await reserve(5);
      await store.take([descriptorOf(key(), { ...quota, cost: -3 })]);
      expect(await left()).toBe(8);
      expect(await settle(first, 0)).toEqual(SETTLED);
      expect(await left()).toBe(10);
      clock.nowMs += 1;
      await reserve(10);
      expect(await left()).toBe(0);
    });
  });
}
