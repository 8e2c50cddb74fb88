import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import type { SettlementStore } from '../../../../src/gateway/core/counting/settlement.ts';
import {
  type QuotaStore,
  StoreError,
  type StoreErrorReason,
} from '../../../../src/gateway/core/counting/store.ts';
import { createBreaker, guardedStore } from '../../../../src/gateway/stores/guarded-store.ts';

beforeEach(() => vi.useFakeTimers());
afterEach(() => vi.useRealTimers());

function setUp() {
  const events: string[] = [];
  const store = { fails: undefined as StoreErrorReason | undefined, probed: 0 };
  const breaker = createBreaker({
    probe: async () => {
      store.probed++;
      if (store.fails) throw new StoreError(store.fails, 'no');
    },
    onSilence: () => events.push('silence'),
    onOpen: () => events.push('open'),
    onStillOpen: (error) => events.push((error as StoreError).reason),
    onClose: () => events.push('close'),
  });
  /** Round trips while nothing stands against them; resolves to how many there were. */
  const roundTrips = (times: number) => {
    for (let trip = 0; trip < times; trip++) {
      if (breaker.obstacle() !== undefined) return trip;
      if (store.fails) breaker.failed(store.fails);
      else breaker.succeeded();
    }
    return times;
  };
  return { breaker, store, events, roundTrips };
}

describe('a breaker', () => {
  test('opens after five timeouts in a row', () => {
    const { breaker, store, events, roundTrips } = setUp();
    store.fails = 'timeout';
    expect(roundTrips(7)).toBe(5);
    expect(breaker.obstacle()?.reason).toBe('given_up');
    expect(events).toEqual(['open']);
  });

  test('stays closed if answers come between the timeouts', () => {
    const { store, events, roundTrips } = setUp();
    for (let round = 0; round < 5; round++) {
      store.fails = 'timeout';
      roundTrips(4);
      store.fails = undefined;
      roundTrips(1);
    }
    expect(events).toEqual([]);
  });

  test.each(['oom', 'connection', 'readonly', 'noperm'] as const)(
    'stays closed for a store that fails at once (%s)',
    (reason) => {
      const { store, events, roundTrips } = setUp();
      store.fails = reason;
      expect(roundTrips(50)).toBe(50);
      expect(events).toEqual([]);
    },
  );

  test('probes until there is an answer, then closes', async () => {
    const { breaker, store, events, roundTrips } = setUp();
    store.fails = 'timeout';
    roundTrips(5);
    await vi.advanceTimersByTimeAsync(1_000);
    expect(store.probed).toBeGreaterThanOrEqual(6);
    expect(store.probed).toBeLessThanOrEqual(10);
    expect(breaker.obstacle()?.reason).toBe('given_up');
    store.fails = undefined;
    await vi.advanceTimersByTimeAsync(150);
    expect(roundTrips(2)).toBe(2);
    expect(events.at(-1)).toBe('close');
  });

  test('reports silence when no probe is answered, because a new connection might help', async () => {
    const { store, events, roundTrips } = setUp();
    store.fails = 'timeout';
    roundTrips(5);
    while (store.probed < 8) await vi.advanceTimersByTimeAsync(50);
    const four = Array(4).fill('timeout');
    expect(events).toEqual(['open', ...four, 'silence', ...four, 'silence']);
  });

  test('starts counting from zero after it has closed', async () => {
    const { breaker, store, events, roundTrips } = setUp();
    for (let outage = 1; outage <= 2; outage++) {
      store.fails = 'timeout';
      expect(roundTrips(9)).toBe(5);
      store.probed = 0;
      while (store.probed < 3) await vi.advanceTimersByTimeAsync(50);
      store.fails = undefined;
      await vi.advanceTimersByTimeAsync(150);
      expect(breaker.obstacle()).toBeUndefined();
    }
    // Three failed probes in each outage are not four in a row.
    expect(events).not.toContain('silence');
    store.fails = 'timeout';
    expect(roundTrips(4)).toBe(4);
    expect(breaker.obstacle()).toBeUndefined();
  });

  test('opens once, however many late answers still arrive', () => {
    const { breaker, events } = setUp();
    for (let i = 0; i < 20; i++) breaker.failed('timeout');
    expect(events).toEqual(['open']);
    expect(vi.getTimerCount()).toBe(1);
  });

  test('that is shut down sends no probes', async () => {
    const { breaker, store, roundTrips } = setUp();
    store.fails = 'timeout';
    roundTrips(5);
    breaker.close();
    await vi.advanceTimersByTimeAsync(1_000);
    expect(store.probed).toBe(0);
  });
});

test('a guarded store is called only while all gates are open', async () => {
  const asked: unknown[] = [];
  const store: QuotaStore & SettlementStore = {
    take: (descriptors) => {
      asked.push(descriptors);
      return { admitted: true, states: [], nowMs: 0 };
    },
    settle: () => ({ parts: [] }),
    reset: async () => {},
  };
  let obstacle: StoreError | undefined;
  const guarded = guardedStore(store, [
    { obstacle: () => undefined },
    { obstacle: () => obstacle },
  ]);
  expect(guarded.take([])).toMatchObject({ admitted: true });
  obstacle = new StoreError('overloaded', 'no');
  await expect(guarded.take([])).rejects.toBe(obstacle);
  expect(asked).toHaveLength(1);
});

test('settlements pass the gates that concern them', async () => {
  const store: QuotaStore & SettlementStore = {
    take: () => ({ admitted: true, states: [], nowMs: 0 }),
    settle: () => ({ parts: [] }),
    reset: async () => {},
  };
  const obstacle = new StoreError('overloaded', 'no');
  const [open, closed] = [{ obstacle: () => undefined }, { obstacle: () => obstacle }];
  const settlement = { id: 'a', endsMs: 1, parts: [] };
  const guarded = guardedStore(store, [open, closed], [open]);
  await expect(guarded.take([])).rejects.toBe(obstacle);
  expect(await guarded.settle(settlement)).toEqual({ parts: [] });
  await expect(guardedStore(store, [open], [open, closed]).settle(settlement)).rejects.toBe(
    obstacle,
  );
});
