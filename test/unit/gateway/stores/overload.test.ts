import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { watchOverload } from '../../../../src/gateway/stores/guarded-store.ts';

beforeEach(() => vi.useFakeTimers());
afterEach(() => vi.useRealTimers());

function setUp() {
  const clock = { nowMs: 0 };
  const counts = { shed: 0 };
  const overload = watchOverload({
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

test('an overloaded event loop closes the gate', () => {
  const { overload, counts, turns } = setUp();
  turns(3, 51);
  expect(overload.obstacle()?.reason).toBe('overloaded');
  expect(counts.shed).toBe(1);
});

test('the gate opens as soon as a timer is in time', () => {
  const { overload, counts, turns } = setUp();
  turns(10, 200);
  turns(1, 0);
  expect(overload.obstacle()).toBeUndefined();
  expect(counts.shed).toBe(0);
});

test.each([
  ['one long pause', [1, 900]],
  ['always a little late', [1_000, 49]],
] as const)('%s is not an overload', (_, [times, lateMs]) => {
  const { overload, turns } = setUp();
  turns(times, lateMs);
  expect(overload.obstacle()).toBeUndefined();
});

test('the watch sleeps a second after the last request', () => {
  const { overload, turns } = setUp();
  turns(99, 0);
  overload.obstacle();
  turns(99, 0);
  expect(vi.getTimerCount()).toBe(1);
  turns(1, 0);
  expect(vi.getTimerCount()).toBe(0);
});

test('the next request wakes the watch, and the time between is no lateness', () => {
  const { overload, turns } = setUp();
  turns(100, 0);
  turns(1, 60_000);
  expect(overload.obstacle()).toBeUndefined();
  turns(2, 51);
  expect(overload.obstacle()).toBeUndefined();
  turns(1, 51);
  expect(overload.obstacle()?.reason).toBe('overloaded');
});

test('a watch that falls asleep forgets how late it was', () => {
  const { overload, turns } = setUp();
  turns(100, 200);
  expect(overload.obstacle()).toBeUndefined();
  overload.close();
  expect(vi.getTimerCount()).toBe(0);
});
