import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { QuotaStore, StoreError } from '../../../src/core/store.ts';
import { Overload } from '../../../src/stores/overload.ts';

beforeEach(() => vi.useFakeTimers());
afterEach(() => vi.useRealTimers());

function setUp() {
  const clock = { nowMs: 0 };
  const counts = { asked: 0, shed: 0 };
  const store: QuotaStore = {
    take: () => {
      counts.asked++;
      return { admitted: true, states: [], nowMs: 0 };
    },
    reset: async () => {},
  };
  const overload = new Overload({
    store,
    now: () => clock.nowMs,
    limitMs: 50,
    onShed: () => counts.shed++,
  });
  /** Timers are called, each so late. */
  const turns = (times: number, lateMs: number) => {
    for (let i = 0; i < times; i++) {
      clock.nowMs += 10 + lateMs;
      vi.advanceTimersByTime(10);
    }
  };
  return { overload, counts, turns };
}

test('a process that is late time after time does not ask the store', async () => {
  const { overload, counts, turns } = setUp();
  turns(3, 51);
  const reason = await Promise.resolve(overload.take([])).catch(
    (error: StoreError) => error.reason,
  );
  expect(reason).toBe('overloaded');
  expect(counts).toEqual({ asked: 0, shed: 1 });
});

test('and asks again as soon as it is in time', () => {
  const { overload, counts, turns } = setUp();
  turns(10, 200);
  turns(1, 0);
  expect(overload.take([])).toMatchObject({ admitted: true });
  expect(counts).toEqual({ asked: 1, shed: 0 });
});

test.each([
  ['one long pause', [1, 900]],
  ['always a little late', [1_000, 49]],
] as const)('%s is no overload', (_, [times, lateMs]) => {
  const { overload, counts, turns } = setUp();
  turns(times, lateMs);
  expect(overload.take([])).toMatchObject({ admitted: true });
  expect(counts.shed).toBe(0);
});
