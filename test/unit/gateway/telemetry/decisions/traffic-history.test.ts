/** The traffic of each policy in steps. */
import { expect, test } from 'vitest';
import {
  STEP_MS,
  STEPS,
  TrafficHistory,
} from '../../../../../src/gateway/telemetry/decisions/traffic-history.ts';

const NOON_MS = Date.UTC(2026, 10, 21, 12);
const ZEROS = new Array<number>(STEPS).fill(0);

/** Counts as a tally does, and samples at the end of each step. */
function setUp(nowMs = NOON_MS) {
  const totals = new Map<string, { requests: number; denials: number; wouldDeny: number }>();
  const history = new TrafficHistory(
    () => [...totals].map(([name, each]) => [name, { ...each }]),
    nowMs,
  );
  const clock = { nowMs };
  return {
    history,
    clock,
    count(policy: string, requests: number, denials = 0, wouldDeny = 0) {
      const known = totals.get(policy) ?? { requests: 0, denials: 0, wouldDeny: 0 };
      totals.set(policy, {
        requests: known.requests + requests,
        denials: known.denials + denials,
        wouldDeny: known.wouldDeny + wouldDeny,
      });
    },
    pass(steps = 1) {
      clock.nowMs += steps * STEP_MS;
      history.sample(clock.nowMs);
    },
  };
}

/** The series with these last numbers. */
const ending = (...counts: number[]) => [...ZEROS.slice(counts.length), ...counts];

test('has what each step counted, and leaves out what was always 0', () => {
  const { history, clock, count, pass } = setUp();
  count('login', 5, 2);
  pass();
  count('login', 1);
  count('trial', 3, 0, 1);
  pass();
  pass();
  expect(history.series(clock.nowMs, 100)).toEqual([
    { policy: 'login', requests: ending(5, 1, 0), denials: ending(2, 0, 0), wouldDeny: [] },
    { policy: 'trial', requests: ending(3, 0), denials: [], wouldDeny: ending(1, 0) },
  ]);
});

test('does not show a step before it has ended', () => {
  const { history, clock, count } = setUp();
  count('login', 5);
  history.sample(clock.nowMs + STEP_MS - 1);
  expect(history.series(clock.nowMs, 100)).toEqual([]);
  history.sample(clock.nowMs + STEP_MS);
  expect(history.series(clock.nowMs + STEP_MS, 100)[0]?.requests).toEqual(ending(5));
});

test('answers a gateway whose clock is a step behind or ahead', () => {
  const { history, clock, count, pass } = setUp();
  count('login', 5);
  pass();
  count('login', 6);
  pass();
  expect(history.series(clock.nowMs - STEP_MS, 100)[0]?.requests).toEqual(ending(5));
  expect(history.series(clock.nowMs + STEP_MS, 100)[0]?.requests).toEqual(ending(5, 6, 0));
});

test('answers a time that no gateway has with nothing', () => {
  const { history, count, pass } = setUp();
  count('login', 5);
  pass();
  for (const untilMs of [0, NOON_MS - 3_600_000, NOON_MS + 3_600_000, Number.MAX_SAFE_INTEGER]) {
    expect(history.series(untilMs, 100)).toEqual([]);
  }
});

test('a late sample counts for the step that it was taken for, and the steps between are 0', () => {
  const { history, clock, count, pass } = setUp();
  count('login', 5);
  pass();
  count('login', 7);
  pass(3);
  expect(history.series(clock.nowMs, 100)[0]?.requests).toEqual(ending(5, 7, 0, 0));
});

test('goes round without a trace of older steps', () => {
  const { history, clock, count, pass } = setUp();
  for (let i = 1; i <= 3 * STEPS; i++) {
    count('login', i);
    pass();
  }
  const expected = ZEROS.map((_, i) => 2 * STEPS + i + 1);
  expect(history.series(clock.nowMs, 100)[0]?.requests).toEqual(expected);
});

test('a policy without traffic for 15 minutes is left out, also after a long sleep', () => {
  const { history, clock, count, pass } = setUp();
  count('login', 5);
  pass();
  for (let i = 0; i < STEPS; i++) pass();
  expect(history.series(clock.nowMs, 100)).toEqual([]);
  count('login', 3);
  pass();
  expect(history.series(clock.nowMs, 100)[0]?.requests).toEqual(ending(3));
  pass(100_000);
  expect(history.series(clock.nowMs, 100)).toEqual([]);
});

test('a clock that is set back loses nothing, and by hours begins again', () => {
  const { history, clock, count, pass } = setUp();
  count('login', 5);
  pass();
  const endMs = clock.nowMs;
  count('login', 1);
  history.sample(endMs - 2 * STEP_MS);
  history.sample(endMs + STEP_MS);
  expect(history.series(endMs + STEP_MS, 100)[0]?.requests).toEqual(ending(5, 1));
  clock.nowMs = endMs - 3_600_000;
  history.sample(clock.nowMs);
  expect(history.series(clock.nowMs, 100)).toEqual([]);
  count('login', 9);
  pass();
  expect(history.series(clock.nowMs, 100)[0]?.requests).toEqual(ending(9));
});

test('of many policies, those with the most requests are shown', () => {
  const { history, clock, count, pass } = setUp();
  for (let i = 1; i <= 50; i++) count(`p${i}`, i);
  pass();
  expect(history.series(clock.nowMs, 2).map(({ policy }) => policy)).toEqual(['p50', 'p49']);
});
