/** What every store must do. The test sets the clock, so no test waits. */
import { describe, expect, test } from 'vitest';
import type { CalendarUnit } from '../../src/gateway/core/counting/calendar.ts';
import type { SettlementStore } from '../../src/gateway/core/counting/settlement.ts';
import {
  ALGORITHMS,
  type Descriptor,
  MAX_FIXED_LIMIT,
  MAX_FIXED_UNITS,
  type Quota,
  type QuotaReader,
  type QuotaStore,
} from '../../src/gateway/core/counting/store.ts';
import { calendarQuota, descriptorOf } from '../support/quotas.ts';
import { describeCharges } from './charges.contract.ts';
import { expectNoRefill } from './renamed-bucket.contract.ts';
import { describeSettlements } from './settlements.contract.ts';

export interface StoreUnderTest {
  readonly store: QuotaStore & QuotaReader & SettlementStore;
  readonly clock: { nowMs: number };
  /** A key that no other test counts under. */
  key(name?: string): string;
}

export function describeQuotaStore(open: () => StoreUnderTest): void {
  describe('keeps the contract of quota stores', () => {
    const W = 300_000;

    describeCharges(open);
    describeSettlements(open);

    function setUp() {
      const { store, clock, key } = open();
      const limit = (most: number, id = 'a', windowMs = W, cost = 1) =>
        descriptorOf(key(id), { limit: most, windowMs, cost });
      const take = (...descriptors: readonly Descriptor[]) => store.take(descriptors);
      const admit = async (...descriptors: readonly Descriptor[]) =>
        (await take(...descriptors)).admitted;
      const peek = (...descriptors: readonly Descriptor[]) => store.peek(descriptors);
      return { clock, limit, take, admit, peek };
    }

    test('admits up to the limit, then denies', async () => {
      const { limit, admit } = setUp();
      const answers = [];
      for (let i = 0; i < 7; i++) answers.push(await admit(limit(5)));
      expect(answers).toEqual([true, true, true, true, true, false, false]);
    });

    test('returns the state of each limit after the take', async () => {
      const { clock, limit, take } = setUp();
      const start = clock.nowMs;
      expect(await take(limit(2))).toEqual({
        admitted: true,
        states: [{ limit: 2, remaining: 1, resetAfterMs: W, retryAfterMs: 0 }],
        nowMs: start,
      });
      clock.nowMs += 1_000;
      expect((await take(limit(2))).states).toEqual([
        { limit: 2, remaining: 0, resetAfterMs: W, retryAfterMs: W - 1_000 },
      ]);
      clock.nowMs += 2_000;
      expect(await take(limit(2))).toEqual({
        admitted: false,
        states: [{ limit: 2, remaining: 0, resetAfterMs: W - 2_000, retryAfterMs: W - 3_000 }],
        nowMs: start + 3_000,
      });
    });

    test('a peek returns the state of limits without taking from them', async () => {
      const { clock, limit, take, admit, peek } = setUp();
      const start = clock.nowMs;
      expect(await peek(limit(2), limit(3, 'b'))).toEqual({
        states: [
          { limit: 2, remaining: 2, resetAfterMs: 0, retryAfterMs: 0 },
          { limit: 3, remaining: 3, resetAfterMs: 0, retryAfterMs: 0 },
        ],
        nowMs: start,
      });
      for (let i = 0; i < 2; i++) await take(limit(2));
      clock.nowMs += 1_000;
      for (let i = 0; i < 3; i++) {
        expect((await peek(limit(3, 'b'), limit(2))).states).toEqual([
          { limit: 3, remaining: 3, resetAfterMs: 0, retryAfterMs: 0 },
          { limit: 2, remaining: 0, resetAfterMs: W - 1_000, retryAfterMs: W - 1_000 },
        ]);
      }
      expect(await admit(limit(3, 'b', W, 3))).toBe(true);
    });

    test.each(ALGORITHMS)('a peek takes nothing: %s', async (algorithm) => {
      const { store, key } = open();
      const quota = { algorithm, limit: 3, windowMs: W, burst: 3, countRejected: true };
      const one = [{ key: key('looked-at'), quota, cost: 1 }];
      for (let i = 0; i < 9; i++) expect((await store.peek(one)).states[0]?.remaining).toBe(3);
      const admitted = [];
      for (let i = 0; i < 4; i++) {
        admitted.push((await store.take(one)).admitted);
        await store.peek(one);
      }
      expect(admitted).toEqual([true, true, true, false]);
    });

    test('a client that waits for retryAfterMs is admitted, and not a millisecond earlier', async () => {
      const { clock, limit, take, admit } = setUp();
      for (let i = 0; i < 3; i++) {
        await take(limit(3));
        clock.nowMs += 7_001;
      }
      const retryAfterMs = (await take(limit(3))).states[0]?.retryAfterMs ?? 0;
      clock.nowMs += retryAfterMs - 1;
      expect(await admit(limit(3))).toBe(false);
      clock.nowMs += 1;
      expect(await admit(limit(3))).toBe(true);
      expect(await admit(limit(3))).toBe(false);
    });

    test('denials do not count', async () => {
      const { clock, limit, admit } = setUp();
      await admit(limit(1));
      for (let i = 0; i < 50; i++) {
        clock.nowMs += W / 100;
        expect(await admit(limit(1))).toBe(false);
      }
      clock.nowMs += W / 2;
      expect(await admit(limit(1))).toBe(true);
    });

    test('no window holds more than the limit, where a fixed window would admit twice as much', async () => {
      const { clock, limit, admit } = setUp();
      const fixedWindow = new Map<number, number>();
      const fixedWindowAdmits = () => {
        const window = Math.floor(clock.nowMs / W);
        const count = (fixedWindow.get(window) ?? 0) + 1;
        fixedWindow.set(window, count);
        return count <= 5;
      };
      // Just before a boundary of the fixed window, then half a window later.
      clock.nowMs = Math.ceil(clock.nowMs / W) * W - 1;
      const admitted = { sliding: 0, fixed: 0 };
      const send = async () => {
        for (let i = 0; i < 5; i++) {
          if (await admit(limit(5))) admitted.sliding++;
          if (fixedWindowAdmits()) admitted.fixed++;
        }
      };
      await send();
      clock.nowMs += W / 2;
      await send();
      expect(admitted).toEqual({ sliding: 5, fixed: 10 });
      clock.nowMs += W / 2;
      expect(await admit(limit(5))).toBe(true);
    });

    describe('takes from all limits or from none', () => {
      test('a denial by one leaves the others as they were', async () => {
        const { limit, take } = setUp();
        await take(limit(1, 'narrow'));
        const { admitted, states } = await take(limit(10, 'wide'), limit(1, 'narrow'));
        expect(admitted).toBe(false);
        expect(states[0]).toEqual({ limit: 10, remaining: 10, resetAfterMs: 0, retryAfterMs: 0 });
        expect((await take(limit(10, 'wide'))).states[0]?.remaining).toBe(9);
      });
      test('in any order of the limits', async () => {
        const { limit, take } = setUp();
        await take(limit(1, 'narrow'));
        expect((await take(limit(1, 'narrow'), limit(10, 'wide'))).admitted).toBe(false);
        expect((await take(limit(10, 'wide'))).states[0]?.remaining).toBe(9);
      });
      test('each with its own window', async () => {
        const { clock, limit, admit } = setUp();
        const second = limit(2, 'second', 1_000);
        const minute = limit(3, 'minute', 60_000);
        expect([await admit(second, minute), await admit(second, minute)]).toEqual([true, true]);
        expect(await admit(second, minute)).toBe(false);
        clock.nowMs += 1_000;
        expect([await admit(second, minute), await admit(second, minute)]).toEqual([true, false]);
      });
    });

    describe('costs', () => {
      test('are taken as a whole', async () => {
        const { limit, take } = setUp();
        expect((await take(limit(10, 'a', W, 4))).states[0]?.remaining).toBe(6);
        expect((await take(limit(10, 'a', W, 4))).states[0]?.remaining).toBe(2);
        const third = await take(limit(10, 'a', W, 4));
        expect(third).toMatchObject({ admitted: false, states: [{ remaining: 2 }] });
        expect((await take(limit(10, 'a', W, 2))).admitted).toBe(true);
      });
      test('are admitted when enough units have left the window', async () => {
        const { clock, limit, take, admit } = setUp();
        for (let i = 0; i < 3; i++) {
          await take(limit(3));
          clock.nowMs += 1_000;
        }
        const { states } = await take(limit(3, 'a', W, 2));
        expect(states[0]?.retryAfterMs).toBe(W - 2_000);
        clock.nowMs += W - 2_001;
        expect(await admit(limit(3, 'a', W, 2))).toBe(false);
        clock.nowMs += 1;
        expect(await admit(limit(3, 'a', W, 2))).toBe(true);
      });
      test('may be the whole limit', async () => {
        const { clock, limit, admit } = setUp();
        expect(await admit(limit(5_000, 'a', W, 5_000))).toBe(true);
        expect(await admit(limit(5_000, 'a', W, 1))).toBe(false);
        clock.nowMs += W;
        expect(await admit(limit(5_000, 'a', W, 5_000))).toBe(true);
      });
    });

    describe.each(ALGORITHMS)('%s', (algorithm) => {
      const quota = (limit: number, parts: Partial<Quota & { cost: number; id: string }> = {}) => {
        const { id = 'a', ...rest } = parts;
        return { id, limit, windowMs: W, algorithm, ...rest };
      };
      function setUpAlgorithm() {
        const { store, clock, key } = open();
        const take = async ({ id, ...parts }: ReturnType<typeof quota>) =>
          store.take([descriptorOf(key(`${algorithm}:${id}`), parts)]);
        const stateOf = async (parts: ReturnType<typeof quota>) => (await take(parts)).states[0];
        // The beginning of a window, so that a counter has no window before it to weigh.
        clock.nowMs = Math.ceil(clock.nowMs / W) * W;
        return { store, clock, key, take, stateOf };
      }

      test('admits up to the limit at once, then denies', async () => {
        const { take } = setUpAlgorithm();
        const answers = [];
        for (let i = 0; i < 7; i++) answers.push((await take(quota(5))).admitted);
        expect(answers).toEqual([true, true, true, true, true, false, false]);
      });

      test('a single client that waits for retryAfterMs is always admitted, at any cost', async () => {
        const { clock, take } = setUpAlgorithm();
        let denials = 0;
        for (let i = 0; i < 200; i++) {
          const request = quota(7, { cost: 1 + (i % 4) });
          const { admitted, states } = await take(request);
          if (admitted) continue;
          denials++;
          const retryAfterMs = states[0]?.retryAfterMs ?? 0;
          clock.nowMs += retryAfterMs - 1;
          expect((await take(request)).admitted).toBe(false);
          clock.nowMs += 1;
          expect((await take(request)).admitted).toBe(true);
        }
        expect(denials).toBeGreaterThan(50);
      });

      test('is full again after resetAfterMs, and not a millisecond earlier', async () => {
        const { clock, take, stateOf } = setUpAlgorithm();
        await take(quota(7, { cost: 3 }));
        clock.nowMs += 1_000;
        const { resetAfterMs = 0 } = (await stateOf(quota(7, { cost: 2 }))) ?? {};
        clock.nowMs += resetAfterMs - 1;
        expect((await take(quota(7, { cost: 7 }))).admitted).toBe(false);
        clock.nowMs += 1;
        expect((await take(quota(7, { cost: 7 }))).admitted).toBe(true);
      });

      test('denials change nothing', async () => {
        const { clock, take } = setUpAlgorithm();
        await take(quota(5, { cost: 5 }));
        const first = await take(quota(5, { cost: 5 }));
        for (let i = 0; i < 20; i++) {
          clock.nowMs += 1_000;
          await take(quota(5, { cost: 5 }));
        }
        clock.nowMs += (first.states[0]?.retryAfterMs ?? 0) - 20_000;
        expect((await take(quota(5, { cost: 5 }))).admitted).toBe(true);
      });

      test('with count_rejected, a client that keeps retrying is admitted only when a fixed window ends', async () => {
        const { clock, take } = setUpAlgorithm();
        const request = quota(5, { countRejected: true });
        for (let i = 0; i < 5; i++) await take(request);
        const answers: boolean[] = [];
        for (let i = 1; i <= 100; i++) {
          clock.nowMs += W / 20;
          answers.push((await take(request)).admitted);
        }
        // A fixed window ends after every twentieth request. It admits the first five of the next window.
        const expected = answers.map((_, i) => (i + 1) % 20 < 5 && i + 1 >= 20);
        expect(answers).toEqual(expected.map((each) => algorithm === 'fixed-window' && each));
        while ((await take(request)).admitted);
        const { retryAfterMs = 0 } = (await take(request)).states[0] ?? {};
        clock.nowMs += retryAfterMs;
        expect((await take(request)).admitted).toBe(true);
      });

      test('with count_rejected, retries lengthen no wait beyond what an empty quota needs', async () => {
        const { take, stateOf } = setUpAlgorithm();
        const request = quota(5, { countRejected: true });
        for (let i = 0; i < 50; i++) await take(request);
        const { retryAfterMs = 0 } = (await stateOf(request)) ?? {};
        expect(retryAfterMs).toBeGreaterThan(0);
        expect(retryAfterMs).toBeLessThanOrEqual(
          algorithm === 'sliding-window-counter' ? 2 * W : W,
        );
      });

      test('with count_rejected, a lowered limit keeps the counts', async () => {
        const { take, stateOf } = setUpAlgorithm();
        for (let i = 0; i < 5; i++) await take(quota(5));
        expect((await take(quota(3, { countRejected: true }))).admitted).toBe(false);
        expect(await stateOf(quota(5))).toMatchObject({ remaining: 0 });
      });

      test('a request that another limit denies counts only with count_rejected', async () => {
        const { store, key } = open();
        const full = descriptorOf(key('full'), { limit: 1, windowMs: W, algorithm });
        const plain = descriptorOf(key('plain'), { limit: 9, windowMs: W, algorithm });
        const strict = descriptorOf(key('strict'), { ...plain.quota, countRejected: true });
        await store.take([full]);
        const { states } = await store.take([plain, strict, full]);
        expect(states.map((state) => state?.remaining)).toEqual([9, 8, 0]);
      });

      test('a changed limit keeps the counts', async () => {
        const { take, stateOf } = setUpAlgorithm();
        for (let i = 0; i < 3; i++) await take(quota(3));
        expect(await stateOf(quota(5))).toMatchObject({ limit: 5, remaining: 1 });
        expect(await take(quota(2))).toMatchObject({ admitted: false, states: [{ remaining: 0 }] });
      });

      test('a reset clears the counters of its keys, and no others', async () => {
        const { store, key, take, stateOf } = setUpAlgorithm();
        await take(quota(3, { cost: 3 }));
        await take(quota(3, { cost: 3, id: 'other' }));
        await store.reset([key(`${algorithm}:a`), key('never counted')]);
        expect(await stateOf(quota(3))).toMatchObject({ remaining: 2 });
        expect((await take(quota(3, { id: 'other' }))).admitted).toBe(false);
      });

      test('when the clock is set back, no unit is forgotten and no wait exceeds a window', async () => {
        const { clock, take } = setUpAlgorithm();
        // What a counter holds weighs in the next window, too.
        const longestMs = algorithm === 'sliding-window-counter' ? 2 * W : W;
        await take(quota(4));
        clock.nowMs += 10_000;
        for (let i = 0; i < 3; i++) await take(quota(4));
        for (const back of [1, 5_000, 3_600_000, 86_400_000]) {
          clock.nowMs -= back;
          const { admitted, states } = await take(quota(4));
          expect(admitted).toBe(false);
          expect(states[0]?.remaining).toBe(0);
          expect(states[0]?.retryAfterMs).toBeLessThanOrEqual(longestMs);
        }
        const { retryAfterMs = 0 } = (await take(quota(4))).states[0] ?? {};
        clock.nowMs += retryAfterMs - 1;
        expect((await take(quota(4))).admitted).toBe(false);
        clock.nowMs += 1;
        expect((await take(quota(4))).admitted).toBe(true);
      });

      test('a check takes nothing', async () => {
        const { store, key, take } = setUpAlgorithm();
        const check = descriptorOf(
          key(`${algorithm}:a`),
          quota(3, { cost: 0, countRejected: true }),
        );
        const full = { limit: 3, remaining: 3, resetAfterMs: 0, retryAfterMs: 0 };
        for (let i = 0; i < 9; i++) {
          expect(await store.take([check])).toMatchObject({ admitted: true, states: [full] });
          expect((await store.peek([check])).states).toEqual([full]);
        }
        const admitted = [];
        for (let i = 0; i < 4; i++) {
          admitted.push((await take(quota(3))).admitted);
          await store.take([check]);
        }
        expect(admitted).toEqual([true, true, true, false]);
      });

      test('a check fits while a unit is left, in a fixed window also when none is', async () => {
        const { clock, take, stateOf } = setUpAlgorithm();
        const check = quota(2, { cost: 0 });
        await take(quota(2));
        expect((await take(check)).admitted).toBe(true);
        await take(quota(2));
        const isFixed = algorithm === 'fixed-window';
        expect(await take(check)).toMatchObject({ admitted: isFixed, states: [{ remaining: 0 }] });
        const { retryAfterMs = 0 } = (await stateOf(check)) ?? {};
        expect(retryAfterMs > 0).toBe(!isFixed);
        clock.nowMs += Math.max(0, retryAfterMs - 1);
        expect((await take(check)).admitted).toBe(isFixed);
        clock.nowMs += 1;
        expect((await take(check)).admitted).toBe(true);
      });

      test('a check of a fixed window is denied only if more than the limit was counted', async () => {
        const { clock, take } = setUpAlgorithm();
        const check = quota(2, { cost: 0 });
        const charge = quota(2, { cost: 3, countRejected: true });
        expect((await take(charge)).admitted).toBe(false);
        expect((await take(check)).admitted).toBe(false);
        await take(quota(2, { cost: -1 }));
        expect((await take(check)).admitted).toBe(true);
        clock.nowMs += 2 * W;
        expect((await take(check)).admitted).toBe(true);
      });

      test('a refund gives units back, at most those that were taken', async () => {
        const { take, stateOf } = setUpAlgorithm();
        const refund = (units: number) => quota(5, { cost: -units });
        expect(await stateOf(refund(3))).toMatchObject({ remaining: 5, resetAfterMs: 0 });
        for (let i = 0; i < 5; i++) await take(quota(5));
        const refunded = await take(refund(2));
        expect(refunded).toMatchObject({ admitted: true, states: [{ remaining: 2 }] });
        expect(refunded.states[0]?.retryAfterMs).toBe(0);
        const admitted = [];
        for (let i = 0; i < 3; i++) admitted.push((await take(quota(5))).admitted);
        expect(admitted).toEqual([true, true, false]);
        expect(await stateOf(refund(9))).toEqual({
          limit: 5,
          remaining: 5,
          resetAfterMs: 0,
          retryAfterMs: 0,
        });
        expect((await take(quota(5, { cost: 5 }))).admitted).toBe(true);
        expect((await take(quota(5))).admitted).toBe(false);
      });

      test('a refund may give back a part of what one request took', async () => {
        const { take, stateOf } = setUpAlgorithm();
        await take(quota(9, { cost: 1 }));
        await take(quota(9, { cost: 5 }));
        await take(quota(9, { cost: 3 }));
        expect(await stateOf(quota(9, { cost: -4 }))).toMatchObject({ remaining: 4 });
        expect(await stateOf(quota(9, { cost: -1 }))).toMatchObject({ remaining: 5 });
        expect(await stateOf(quota(9, { cost: 5 }))).toMatchObject({ remaining: 0 });
        expect(await stateOf(quota(9, { cost: -9 }))).toMatchObject({ remaining: 9 });
      });

      test('a refund gives back nothing of a window that has ended', async () => {
        const { clock, take, stateOf } = setUpAlgorithm();
        await take(quota(5, { cost: 5 }));
        clock.nowMs += 2 * W;
        expect(await stateOf(quota(5, { cost: -2 }))).toMatchObject({ remaining: 5 });
        expect(await stateOf(quota(5, { cost: 4 }))).toMatchObject({ remaining: 1 });
      });

      test('a refund is given back after the clock was set back, too', async () => {
        const { clock, take, stateOf } = setUpAlgorithm();
        clock.nowMs += 10_000;
        for (let i = 0; i < 4; i++) await take(quota(4));
        clock.nowMs -= 86_400_000;
        expect(await stateOf(quota(4, { cost: -1 }))).toMatchObject({ remaining: 1 });
        expect((await take(quota(4))).admitted).toBe(true);
        expect((await take(quota(4))).admitted).toBe(false);
      });

      test('a cost above the limit is never admitted, and takes nothing', async () => {
        const { clock, take, stateOf } = setUpAlgorithm();
        const tooMuch = quota(4, { cost: 5 });
        for (let i = 0; i < 5; i++) {
          const { admitted, states } = await take(tooMuch);
          expect(admitted).toBe(false);
          expect(states[0]).toMatchObject({ remaining: 4, resetAfterMs: 0 });
          expect(states[0]?.retryAfterMs).toBeGreaterThan(0);
          clock.nowMs += W / 2;
        }
        expect(await stateOf(quota(4))).toMatchObject({ remaining: 3 });
      });

      test('with count_rejected, a cost above the limit takes all, in a fixed window also more', async () => {
        const { clock, take } = setUpAlgorithm();
        expect(await take(quota(4, { cost: 9, countRejected: true }))).toMatchObject({
          admitted: false,
          states: [{ remaining: 0 }],
        });
        // Of the nine units, five are refunded: all others have counted four.
        const isFixed = algorithm === 'fixed-window';
        const { states } = await take(quota(4, { cost: -5 }));
        expect(states[0]).toMatchObject({ remaining: isFixed ? 0 : 4 });
        expect((await take(quota(4))).admitted).toBe(!isFixed);
        clock.nowMs += 2 * W;
        expect((await take(quota(4, { cost: 4 }))).admitted).toBe(true);
      });

      test('a request takes, checks and refunds all or nothing', async () => {
        const { store, key } = setUpAlgorithm();
        const of = (id: string, cost: number, countRejected = false) =>
          descriptorOf(key(id), { limit: 4, windowMs: W, algorithm, cost, countRejected });
        const left = async () => {
          const ids = ['taken', 'refunded', 'checked'];
          const { states } = await store.peek(ids.map((id) => of(id, 1)));
          return states.map(({ remaining }) => remaining);
        };
        await store.take([of('refunded', 3), of('full', 4)]);
        await store.take([of('checked', 1)]);
        const both = await store.take([of('taken', 2), of('refunded', -1), of('checked', 0)]);
        expect(both.admitted).toBe(true);
        expect(both.states.map((state) => state?.remaining)).toEqual([2, 2, 3]);
        const denied = await store.take([
          of('taken', 1),
          of('refunded', -1),
          of('refunded', -1, true),
          of('checked', 0),
          of('full', 1),
        ]);
        expect(denied.admitted).toBe(false);
        expect(denied.states.map((state) => state?.remaining)).toEqual([2, 2, 2, 3, 0]);
        expect(await left()).toEqual([2, 2, 3]);
      });

      test('what a refund leaves counts as long as without it', async () => {
        const { clock, take, stateOf } = setUpAlgorithm();
        await take(quota(3));
        clock.nowMs += 1_000;
        await take(quota(3, { cost: 2 }));
        clock.nowMs += 1_000;
        const { resetAfterMs } = (await stateOf(quota(3, { cost: -2 }))) ?? {};
        const longestMs = {
          'sliding-window-log': W - 2_000,
          'sliding-window-counter': 2 * W - 2_000,
          // A third of a window for the unit that is left, of which two seconds have passed.
          'token-bucket': W / 3 - 2_000,
          'fixed-window': W - 2_000,
        };
        expect(resetAfterMs).toBe(longestMs[algorithm]);
      });

      test('counts up to a million units, and a cost of a million', async () => {
        const { clock, take } = setUpAlgorithm();
        const month = { windowMs: 31 * 86_400_000, id: 'month' };
        clock.nowMs = Math.ceil(clock.nowMs / month.windowMs) * month.windowMs;
        expect((await take(quota(1_000_000, { ...month, cost: 999_999 }))).admitted).toBe(true);
        expect((await take(quota(1_000_000, { ...month, cost: 2 }))).admitted).toBe(false);
        clock.nowMs += 100;
        const last = await take(quota(1_000_000, { ...month, cost: 1 }));
        expect(last).toMatchObject({ admitted: true, states: [{ remaining: 0 }] });
        const { states } = await take(quota(1_000_000, { ...month, cost: 1_000_000 }));
        clock.nowMs += states[0]?.retryAfterMs ?? 0;
        const again = quota(1_000_000, { ...month, cost: 1_000_000 });
        expect((await take(again)).admitted).toBe(true);
      });
    });

    describe('a window of 31 days', () => {
      const DAY_MS = 86_400_000;
      const month = { windowMs: 31 * DAY_MS };
      test.each([1, 2])(
        'ends after 31 days, even if no request comes in between: cost %i',
        async (cost) => {
          const { store, clock, key } = open();
          const limit = descriptorOf(key(`month ${cost}`), { ...month, limit: cost, cost });
          const startMs = clock.nowMs;
          for (const day of [0, 31.9, 64.8]) {
            clock.nowMs = startMs + day * DAY_MS;
            expect((await store.take([limit])).admitted).toBe(true);
            expect((await store.take([limit])).admitted).toBe(false);
          }
        },
      );
      test.each([1, 2])(
        'forgets nothing when the clock is set back by 16 days: cost %i',
        async (cost) => {
          const { store, clock, key } = open();
          const limit = descriptorOf(key(`back ${cost}`), { ...month, limit: cost, cost });
          expect((await store.take([limit])).admitted).toBe(true);
          clock.nowMs -= 16 * DAY_MS;
          const { admitted, states } = await store.take([limit]);
          expect(admitted).toBe(false);
          expect(states[0]).toMatchObject({ remaining: 0, retryAfterMs: 31 * DAY_MS });
        },
      );
      test('is exact to the day, also when costs vary and the log never becomes empty', async () => {
        const { store, clock, key } = open();
        const startMs = clock.nowMs;
        const left: (number | undefined)[] = [];
        for (const [day, cost] of [
          [0, 2],
          [30, 2],
          [31.5, 2],
          [50, 1],
          [51, 1],
          [62, 2],
        ] as const) {
          clock.nowMs = startMs + day * DAY_MS;
          const limit = descriptorOf(key('month'), { ...month, limit: 8, cost });
          left.push((await store.take([limit])).states[0]?.remaining);
        }
        expect(left).toEqual([6, 4, 4, 3, 2, 2]);
      });
    });

    describe('with count_rejected, a log does not grow without end', () => {
      const strict = (limit: number, cost: number) => ({
        limit,
        cost,
        windowMs: W,
        countRejected: true,
      });
      test('when a reload lowers the cost', async () => {
        const { store, clock, key } = open();
        const take = (cost: number) =>
          store.take([descriptorOf(key('strict'), strict(1_000_000, cost))]);
        for (let i = 0; i < 2; i++) await take(500_000);
        for (let i = 0; i < 8; i++) {
          clock.nowMs += 1_000;
          const { admitted, states } = await take(499_999);
          expect(admitted).toBe(false);
          expect(states[0]).toMatchObject({ remaining: 0 });
          expect(states[0]?.retryAfterMs).toBeGreaterThan(0);
        }
      });
      test('when the clock is set back', async () => {
        const { store, clock, key } = open();
        const take = () => store.take([descriptorOf(key('strict'), strict(5, 1))]);
        for (let i = 0; i < 5; i++) await take();
        clock.nowMs -= 1_000;
        for (let i = 0; i < 100; i++) await take();
        clock.nowMs += 1_000;
        for (let i = 0; i < 4; i++) await take();
        // What is left of the hundred is the newest five: four of them are a second younger than the first.
        clock.nowMs += W - 1_000;
        const { states } = await take();
        expect(states[0]).toMatchObject({ remaining: 0 });
        clock.nowMs += W;
        expect((await take()).states[0]).toMatchObject({ remaining: 4 });
      });
    });

    test('a token bucket holds its burst, and fills at its rate', async () => {
      const { store, clock, key } = open();
      const bucket = { algorithm: 'token-bucket', limit: 60, windowMs: 60_000, burst: 3 } as const;
      const take = () => store.take([descriptorOf(key('bucket'), bucket)]);
      const answers = [];
      for (let i = 0; i < 4; i++) answers.push((await take()).admitted);
      expect(answers).toEqual([true, true, true, false]);
      expect((await take()).states[0]).toEqual({
        limit: 3,
        remaining: 0,
        resetAfterMs: 3_000,
        retryAfterMs: 1_000,
      });
      clock.nowMs += 1_000;
      expect([(await take()).admitted, (await take()).admitted]).toEqual([true, false]);
    });

    test('a token bucket that gets a new name answers as if it had kept its name', () =>
      expectNoRefill(open, (key) => `${key} renamed`, 60));

    test('a peek shows the debt that a token bucket has under its previous name', async () => {
      const { store, key } = open();
      const bucket = {
        algorithm: 'token-bucket',
        limit: 1,
        windowMs: W,
        burst: 3,
        cost: 2,
      } as const;
      const old = descriptorOf(key('old'), bucket);
      const renamed = { ...descriptorOf(key('new'), bucket), previousKey: old.key };
      await store.take([old]);
      const { states } = await store.peek([old, renamed]);
      expect(states[1]).toEqual(states[0]);
      expect(states[1]).toMatchObject({ remaining: 1, resetAfterMs: 2 * W });
    });

    test('a counter weights the previous window', async () => {
      const { store, clock, key } = open();
      const counter = {
        algorithm: 'sliding-window-counter',
        limit: 50,
        windowMs: 60_000,
      } as const;
      clock.nowMs = Math.ceil(clock.nowMs / 60_000) * 60_000;
      const take = (cost: number) =>
        store.take([descriptorOf(key('counter'), { ...counter, cost })]);
      await take(42);
      // A quarter into the next window, three quarters of the 42 still count: 31.5, and 18 more make 49.5.
      clock.nowMs += 75_000;
      expect((await take(18)).states[0]).toMatchObject({ remaining: 0 });
      expect((await take(1)).admitted).toBe(false);
    });

    describe('a fixed window', () => {
      const LARGEST = MAX_FIXED_LIMIT;
      function setUpWindow(parts: Partial<Quota> = {}) {
        const { store, clock, key } = open();
        clock.nowMs = Math.ceil(clock.nowMs / W) * W;
        const fixed = { algorithm: 'fixed-window', limit: 5, windowMs: W, ...parts } as const;
        const take = (cost = 1, more: Partial<Quota> = {}) =>
          store.take([descriptorOf(key('fixed'), { ...fixed, ...more, cost })]);
        return { clock, take };
      }
      test('ends at multiples of its length since the epoch, whenever it began to count', async () => {
        const { clock, take } = setUpWindow();
        clock.nowMs += W - 1;
        expect(await take(5)).toMatchObject({
          admitted: true,
          states: [{ remaining: 0, resetAfterMs: 1, retryAfterMs: 1 }],
        });
        expect((await take()).admitted).toBe(false);
        clock.nowMs += 1;
        // Twice the limit within a millisecond: what the documentation calls the worst case.
        expect(await take(5)).toMatchObject({
          admitted: true,
          states: [{ remaining: 0, resetAfterMs: W, retryAfterMs: W }],
        });
        expect((await take()).admitted).toBe(false);
      });
      test('has a limit of up to 2^32 - 1 units', async () => {
        const { clock, take } = setUpWindow({ limit: LARGEST });
        expect((await take(LARGEST - 1)).states[0]).toMatchObject({ limit: LARGEST, remaining: 1 });
        expect((await take(2)).admitted).toBe(false);
        expect((await take()).states[0]?.remaining).toBe(0);
        expect((await take(-LARGEST)).states[0]?.remaining).toBe(LARGEST);
        expect((await take(LARGEST + 1)).admitted).toBe(false);
        expect((await take(LARGEST)).admitted).toBe(true);
        clock.nowMs += W;
        expect((await take(LARGEST)).admitted).toBe(true);
      });
      test('with count_rejected, counts beyond the limit, up to 2^52 units', async () => {
        const { clock, take } = setUpWindow({ countRejected: true });
        expect((await take(LARGEST)).admitted).toBe(false);
        expect((await take(1 - LARGEST)).states[0]?.remaining).toBe(4);
        for (let i = 0; i < 3; i++) expect((await take(MAX_FIXED_UNITS)).admitted).toBe(false);
        expect((await take(5 - MAX_FIXED_UNITS)).states[0]?.remaining).toBe(0);
        expect((await take(-1)).states[0]?.remaining).toBe(1);
        clock.nowMs += W;
        expect((await take()).states[0]?.remaining).toBe(4);
      });
      test('may last a year', async () => {
        const windowMs = 365 * 86_400_000;
        const { clock, take } = setUpWindow({ windowMs });
        clock.nowMs = Math.ceil(clock.nowMs / windowMs) * windowMs;
        expect((await take(5)).states[0]?.resetAfterMs).toBe(windowMs);
        clock.nowMs += windowMs - 1;
        expect((await take()).admitted).toBe(false);
        clock.nowMs += 1;
        expect((await take()).admitted).toBe(true);
      });
      test('with a limit of 0 denies all but checks and refunds', async () => {
        const { take } = setUpWindow({ limit: 0, burst: 0 });
        expect(await take()).toMatchObject({
          admitted: false,
          states: [{ limit: 0, remaining: 0, resetAfterMs: 0, retryAfterMs: W }],
        });
        expect([(await take(0)).admitted, (await take(-1)).admitted]).toEqual([true, true]);
      });
    });

    describe('a window by the calendar', () => {
      function setUpCalendar(limit: number, unit: CalendarUnit, zone: string) {
        const { store, clock, key } = open();
        const quota = calendarQuota(limit, unit, zone);
        const takeAt = async (moment: string, cost = 1) => {
          clock.nowMs = Date.parse(moment);
          return store.take([{ key: key('calendar'), quota, cost }]);
        };
        const admitAt = async (moment: string, cost = 1) => (await takeAt(moment, cost)).admitted;
        return { store, clock, key, quota, takeAt, admitAt };
      }
      const HOUR_MS = 3_600_000;

      test('of a month ends when the month ends in its zone', async () => {
        const { takeAt, admitAt } = setUpCalendar(10, 'month', 'Europe/Zurich');
        expect(await takeAt('2027-01-31T22:59Z', 9)).toMatchObject({
          admitted: true,
          states: [{ remaining: 1, resetAfterMs: 60_000, retryAfterMs: 60_000 }],
        });
        expect(await admitAt('2027-01-31T22:59:59.999Z', 2)).toBe(false);
        expect(await takeAt('2027-01-31T23:00Z', 10)).toMatchObject({
          admitted: true,
          states: [{ remaining: 0, resetAfterMs: 28 * 24 * HOUR_MS }],
        });
        expect(await admitAt('2027-02-28T22:59:59.999Z')).toBe(false);
        expect(await admitAt('2027-02-28T23:00Z')).toBe(true);
      });
      test.each([
        ['when clocks go forward', '2027-03-27T23:00Z', 23],
        ['when clocks go back', '2027-10-30T22:00Z', 25],
        ['otherwise', '2027-06-30T22:00Z', 24],
      ])('of a day lasts as long as the day: %s', async (_, start, hours) => {
        const { clock, takeAt, admitAt } = setUpCalendar(1, 'day', 'Europe/Zurich');
        const at = (ms: number) => new Date(Date.parse(start) + ms).toISOString();
        expect(await admitAt(at(-1))).toBe(true);
        expect((await takeAt(at(0))).states[0]?.resetAfterMs).toBe(hours * HOUR_MS);
        expect(await admitAt(at(hours * HOUR_MS - 1))).toBe(false);
        expect(clock.nowMs).toBe(Date.parse(start) + hours * HOUR_MS - 1);
        expect(await admitAt(at(hours * HOUR_MS))).toBe(true);
      });
      test('of a week begins on Monday, and of a year on the first of January', async () => {
        const week = setUpCalendar(1, 'week', 'America/New_York');
        expect(await week.admitAt('2026-12-30T12:00Z')).toBe(true);
        expect(await week.admitAt('2027-01-04T04:59Z')).toBe(false);
        expect(await week.admitAt('2027-01-04T05:00Z')).toBe(true);
        const year = setUpCalendar(1, 'year', 'Asia/Kolkata');
        expect((await year.takeAt('2027-12-31T18:30Z')).states[0]?.resetAfterMs).toBe(
          366 * 24 * HOUR_MS,
        );
        expect(await year.admitAt('2028-12-31T18:29Z')).toBe(false);
        expect(await year.admitAt('2028-12-31T18:30Z')).toBe(true);
      });
      test('counts on if the clock is set back into the window before', async () => {
        const { takeAt, admitAt } = setUpCalendar(2, 'month', 'Europe/Zurich');
        expect(await admitAt('2026-12-01T12:00Z', 2)).toBe(true);
        expect(await takeAt('2026-11-30T22:59Z')).toMatchObject({
          admitted: false,
          states: [{ remaining: 0, retryAfterMs: 60_000 }],
        });
        expect(await admitAt('2026-11-30T23:00Z', 2)).toBe(true);
      });
      test('a peek tells its state', async () => {
        const { store, key, quota, takeAt } = setUpCalendar(5, 'day', 'Asia/Kathmandu');
        await takeAt('2026-11-23T18:14Z', 2);
        const { states } = await store.peek([{ key: key('calendar'), quota, cost: 1 }]);
        expect(states).toEqual([{ limit: 5, remaining: 3, resetAfterMs: 60_000, retryAfterMs: 0 }]);
      });
    });

    test('one request may be counted by every algorithm at once', async () => {
      const { store, key } = open();
      const log = descriptorOf(key('l'), { limit: 3, windowMs: W });
      const counter = descriptorOf(key('c'), { ...log.quota, algorithm: 'sliding-window-counter' });
      const bucket = descriptorOf(key('b'), { ...log.quota, algorithm: 'token-bucket', burst: 2 });
      const fixed = descriptorOf(key('f'), { ...log.quota, algorithm: 'fixed-window' });
      const take = () => store.take([log, counter, bucket, fixed]);
      expect([(await take()).admitted, (await take()).admitted]).toEqual([true, true]);
      const { admitted, states } = await take();
      expect(admitted).toBe(false);
      expect(states.map((state) => state?.remaining)).toEqual([1, 1, 0, 1]);
    });

    test('a key whose window has ended equals a new one', async () => {
      const { clock, limit, take } = setUp();
      await take(limit(2));
      clock.nowMs += W;
      expect((await take(limit(2))).states[0]).toMatchObject({ remaining: 1, resetAfterMs: W });
    });

    test('a key whose window has ended is counted again together with a new one', async () => {
      const { clock, limit, admit } = setUp();
      await admit(limit(1, 'old'));
      clock.nowMs += W;
      expect(await admit(limit(1, 'new'), limit(1, 'old'))).toBe(true);
      expect(await admit(limit(1, 'old'))).toBe(false);
      expect(await admit(limit(1, 'new'))).toBe(false);
    });

    test('a batch may have more than 64 different quotas, in one request or in several', async () => {
      const { limit, take } = setUp();
      const limits = Array.from({ length: 150 }, (_, i) => limit(i + 2, `quota ${i}`));
      const together = await take(...limits.slice(0, 100));
      expect(together.states.map((state) => state?.remaining)).toEqual(
        limits.slice(0, 100).map((_, i) => i + 1),
      );
      const apart = await Promise.all(limits.map((each) => take(each)));
      expect(apart.map(({ states }) => states[0]?.remaining)).toEqual(
        limits.map((_, i) => (i < 100 ? i : i + 1)),
      );
    });

    test('requests of one moment are decided one after another', async () => {
      const { limit, take } = setUp();
      const results = await Promise.all(Array.from({ length: 200 }, () => take(limit(150))));
      expect(results.filter(({ admitted }) => admitted)).toHaveLength(150);
      const left = results.map(({ states }) => states[0]?.remaining);
      expect(left.slice(0, 3)).toEqual([149, 148, 147]);
    });
  });
}
