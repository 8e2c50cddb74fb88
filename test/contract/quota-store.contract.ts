/** What every store promises. The clock is the test's own: no test waits. */
import { describe, expect, test } from 'vitest';
import type { Descriptor, QuotaStore } from '../../src/core/store.ts';

export interface StoreUnderTest {
  readonly store: QuotaStore;
  readonly clock: { nowMs: number };
  /** A key that no other test counts under. */
  key(name?: string): string;
}

export function describeQuotaStore(open: () => StoreUnderTest): void {
  describe('keeps the contract of quota stores', () => {
    const W = 300_000;

    function setUp() {
      const { store, clock, key } = open();
      const limit = (most: number, id = 'a', windowMs = W, cost = 1): Descriptor => ({
        key: key(id),
        limit: most,
        windowMs,
        cost,
      });
      const take = (...descriptors: readonly Descriptor[]) => store.take(descriptors);
      const admit = async (...descriptors: readonly Descriptor[]) =>
        (await take(...descriptors)).admitted;
      return { clock, limit, take, admit };
    }

    test('admits up to the limit, then denies', async () => {
      const { limit, admit } = setUp();
      const answers = [];
      for (let i = 0; i < 7; i++) answers.push(await admit(limit(5)));
      expect(answers).toEqual([true, true, true, true, true, false, false]);
    });

    test('tells how each limit stands after the take', async () => {
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

    test('who waits exactly as long as told is admitted, and not a millisecond earlier', async () => {
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

    test('no window holds more than the limit, where a fixed window would let twice as much through', async () => {
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
      test('whichever of them denies', async () => {
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
      test('wait until enough units are over', async () => {
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

    test('a changed limit keeps the counts', async () => {
      const { limit, take } = setUp();
      for (let i = 0; i < 3; i++) await take(limit(3));
      expect((await take(limit(5))).states[0]).toMatchObject({ limit: 5, remaining: 1 });
      expect(await take(limit(2))).toMatchObject({ admitted: false, states: [{ remaining: 0 }] });
    });

    test('time does not run backwards within a key', async () => {
      const { clock, limit, take, admit } = setUp();
      await take(limit(2));
      clock.nowMs -= 10_000;
      expect((await take(limit(2))).states[0]).toMatchObject({
        remaining: 0,
        resetAfterMs: W + 10_000,
        retryAfterMs: W + 10_000,
      });
      clock.nowMs += 10_000 + W - 1;
      expect(await admit(limit(2))).toBe(false);
      clock.nowMs += 1;
      expect(await admit(limit(2))).toBe(true);
    });

    test('a key whose window is over is as good as new', async () => {
      const { clock, limit, take } = setUp();
      await take(limit(2));
      clock.nowMs += W;
      expect((await take(limit(2))).states[0]).toMatchObject({ remaining: 1, resetAfterMs: W });
    });

    test('a key whose window is over is counted again beside a new one', async () => {
      const { clock, limit, admit } = setUp();
      await admit(limit(1, 'old'));
      clock.nowMs += W;
      expect(await admit(limit(1, 'new'), limit(1, 'old'))).toBe(true);
      expect(await admit(limit(1, 'old'))).toBe(false);
      expect(await admit(limit(1, 'new'))).toBe(false);
    });

    test('requests of one moment are decided one after the other', async () => {
      const { limit, take } = setUp();
      const results = await Promise.all(Array.from({ length: 200 }, () => take(limit(150))));
      expect(results.filter(({ admitted }) => admitted)).toHaveLength(150);
      const left = results.map(({ states }) => states[0]?.remaining);
      expect(left.slice(0, 3)).toEqual([149, 148, 147]);
    });
  });
}
