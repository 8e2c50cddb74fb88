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
