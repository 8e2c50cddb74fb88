/** Quotas that are charged with what a response has used, see `remainder` of a quota. */
import { describe, expect, test } from 'vitest';
import type { Algorithm, Descriptor } from '../../src/gateway/core/counting/store.ts';
import { descriptorOf } from '../support/quotas.ts';
import type { StoreUnderTest } from './quota-store.contract.ts';

const W = 60_000;
const CHARGED: readonly Algorithm[] = [
  'sliding-window-log',
  'sliding-window-counter',
  'token-bucket',
];

export function describeCharges(open: () => StoreUnderTest): void {
  describe.each(CHARGED)('charges: %s', (algorithm) => {
    function setUp() {
      const { store, clock, key } = open();
      // Windows of a counter begin here.
      clock.nowMs = Math.ceil(clock.nowMs / W) * W;
      const of = (remainder: 'note' | 'take', cost: number, id = 'a'): Descriptor =>
        descriptorOf(key(id), { limit: 10, windowMs: W, algorithm, cost, remainder });
      const take = async (...descriptors: readonly Descriptor[]) => {
        const { admitted, states } = await store.take(descriptors);
        return [admitted, ...states.map((state) => state?.remaining)];
      };
      const charge = (cost: number, id?: string) => take(of('take', cost, id));
      const call = (cost: number, id?: string) => take(of('note', cost, id));
      const left = async (id?: string) =>
        (await store.peek([of('note', 0, id)])).states[0]?.remaining;
      return { store, clock, key, of, take, charge, call, left };
    }

    test('one that does not fit takes what is left, once for each charge that was admitted', async () => {
      const { charge, left } = setUp();
      expect(await charge(6)).toEqual([true, 4]);
      expect(await charge(6)).toEqual([false, 0]);
      expect(await charge(6)).toEqual([false, 0]);
      expect(await left()).toBe(0);
    });

    test('one that does not fit takes nothing if no call was admitted', async () => {
      const { charge } = setUp();
      for (let i = 0; i < 3; i++) expect(await charge(11)).toEqual([false, 10]);
      expect(await charge(10)).toEqual([true, 0]);
    });

    test('one that does not fit takes what is left once for each check that was admitted', async () => {
      const { clock, charge, call, of, store } = setUp();
      for (let i = 0; i < 2; i++) expect(await call(0)).toEqual([true, 10]);
      expect(await charge(12)).toEqual([false, 0]);
      await store.take([of('take', -4)]);
      expect(await charge(12)).toEqual([false, 0]);
      await store.take([of('take', -4)]);
      clock.nowMs += 1;
      expect(await charge(12)).toEqual([false, 4]);
    });

    test('a peek and a denied check count as no admitted call', async () => {
      const { charge, call, of, store } = setUp();
      await charge(10);
      await charge(1);
      await call(0);
      await store.peek([of('note', 0)]);
      await store.take([of('take', -4)]);
      expect(await charge(5)).toEqual([false, 0]);
      await store.take([of('take', -4)]);
      expect(await charge(5)).toEqual([false, 4]);
    });

    test('calls without charges before count as one admitted call, and later ones each as one', async () => {
      const { charge, call, of, store } = setUp();
      for (let i = 0; i < 3; i++) await call(1);
      expect(await charge(12)).toEqual([false, 0]);
      await store.take([of('take', -4)]);
      expect(await charge(12)).toEqual([false, 4]);
      await call(1);
      expect(await charge(12)).toEqual([false, 0]);
    });

    test('a denied call that is no charge takes nothing', async () => {
      const { call } = setUp();
      expect(await call(7)).toEqual([true, 3]);
      for (let i = 0; i < 3; i++) expect(await call(7)).toEqual([false, 3]);
    });

    test('displaces nothing: who keeps calling is admitted when the first unit is free', async () => {
      const { clock, charge, store, of } = setUp();
      for (let i = 0; i < 10; i++) await charge(1);
      const { retryAfterMs = 0 } = (await store.take([of('take', 1)])).states[0] ?? {};
      expect(retryAfterMs).toBeGreaterThan(0);
      for (const endMs = clock.nowMs + retryAfterMs - 1; clock.nowMs < endMs; ) {
        clock.nowMs = Math.min(clock.nowMs + 997, endMs);
        expect((await charge(1))[0]).toBe(false);
      }
      clock.nowMs += 1;
      expect((await charge(1))[0]).toBe(true);
    });

    test('says when a charge of its cost would be admitted', async () => {
      const { clock, charge, store, of } = setUp();
      await charge(6);
      const { admitted, states } = await store.take([of('take', 6)]);
      expect([admitted, states[0]?.remaining]).toEqual([false, 0]);
      clock.nowMs += (states[0]?.retryAfterMs ?? 0) - 1;
      expect((await store.peek([of('note', 6)])).states[0]?.retryAfterMs).toBe(1);
      clock.nowMs += 1;
      expect((await charge(6))[0]).toBe(true);
    });

    test('an admitted call counts for a window, also if the next aligned window has begun', async () => {
      const { clock, charge, call, store, of } = setUp();
      clock.nowMs += W - 1_000;
      await call(0);
      await call(0);
      clock.nowMs += W - 1;
      expect(await charge(12)).toEqual([false, 0]);
      await store.take([of('take', -4)]);
      clock.nowMs += 1;
      expect((await charge(12))[1]).toBeGreaterThan(0);
    });

    test('the charge of a response that took longer uses up an unused quota, once', async () => {
      const { clock, charge, call } = setUp();
      const isCounter = algorithm === 'sliding-window-counter';
      for (let i = 0; i < 3; i++) await call(0);
      clock.nowMs += 2.5 * W;
      expect(await charge(12)).toEqual([false, isCounter ? 10 : 0]);
      clock.nowMs += 2.5 * W;
      expect(await charge(12)).toEqual([false, 10]);
    });

    test('takes the same under both names of a client, and nothing where one has nothing left', async () => {
      const { take, charge, of, key, left } = setUp();
      const both = (cost: number) =>
        take(of('take', cost, 'a'), { ...of('take', cost, 'b'), previousKey: key('a') });
      await charge(3, 'a');
      // A bucket inherits what the previous name owes.
      const rest = algorithm === 'token-bucket' ? 0 : 3;
      expect(await both(8)).toEqual([false, 0, rest]);
      expect(await left('b')).toBe(rest);
      expect(await both(8)).toEqual([false, 0, rest]);
    });

    test('of a request that another limit denies takes what is left, as often as calls were admitted', async () => {
      const { store, take, call, of } = setUp();
      const checks = [of('note', 0, 'a'), of('note', 0, 'b')];
      const charges = [of('take', 4, 'a'), of('take', 12, 'b')];
      expect(await take(...checks)).toEqual([true, 10, 10]);
      const { states } = await store.take(charges);
      expect(states.map((state) => state?.remaining)).toEqual([6, 0]);
      expect(states.map((state) => state?.taken)).toEqual([4, 10]);
      for (let i = 0; i < 3; i++) expect(await take(...charges)).toEqual([false, 6, 0]);
      expect(await call(6, 'a')).toEqual([true, 0]);
    });

    test('of a request that a limit without charges denies takes what is left', async () => {
      const { take, call, of } = setUp();
      expect(await take(of('note', 0, 'a'), of('note', 9, 'b'))).toEqual([true, 10, 1]);
      const charge = [of('take', 4, 'a'), of('note', 2, 'b')];
      expect(await take(...charge)).toEqual([false, 6, 1]);
      expect(await take(...charge)).toEqual([false, 6, 1]);
      expect(await call(1, 'b')).toEqual([true, 0]);
    });

    test('a reset counter can be charged as before', async () => {
      const { store, of, charge } = setUp();
      await charge(8);
      await store.reset([of('take', 8).key]);
      expect(await charge(8)).toEqual([true, 2]);
      expect(await charge(8)).toEqual([false, 0]);
    });

    test('counts admitted calls as of now if the clock is set back', async () => {
      const { clock, call, charge } = setUp();
      await call(0);
      clock.nowMs -= 10 * W;
      expect(await charge(12)).toEqual([false, 0]);
    });
  });
}
