import { beforeEach, describe, expect, test } from 'vitest';
import { ReportedOutcomes } from '../../../../src/gateway/telemetry/reported-outcomes.ts';

const MINUTE_MS = 60_000;
const LIFE_MS = 15 * MINUTE_MS;

let outcomes: ReportedOutcomes;
beforeEach(() => {
  outcomes = new ReportedOutcomes();
});
const overdueAt = (minutes: number, lifeMs = LIFE_MS) =>
  outcomes.overdue(minutes * MINUTE_MS, lifeMs);

describe('a policy is overdue', () => {
  test('five minutes after its first reservation, if none was ever settled', () => {
    outcomes.reserved('login', 0);
    outcomes.reserved('login', 4 * MINUTE_MS);
    expect(overdueAt(4.9)).toEqual([]);
    expect(overdueAt(5)).toEqual([{ policy: 'login', sinceMs: 0 }]);
  });

  test('earlier, if tokens end earlier', () => {
    outcomes.reserved('login', 0);
    expect(overdueAt(1, MINUTE_MS)).toHaveLength(1);
  });

  test('after more than ten reservations, if it was settled before', () => {
    outcomes.reserved('login', 0);
    outcomes.settled('login', 'settled', 1_000);
    for (let i = 0; i < 10; i++) outcomes.reserved('login', MINUTE_MS);
    expect(overdueAt(60)).toEqual([]);
    outcomes.reserved('login', 2 * MINUTE_MS);
    expect(overdueAt(60)).toEqual([{ policy: 'login', sinceMs: MINUTE_MS }]);
  });

  test('until an outcome comes, also one that changes nothing', () => {
    for (const result of ['settled', 'repeated', 'gone', 'reset', 'waiting', 'elsewhere', 'cut']) {
      outcomes.reserved('login', 0);
      outcomes.settled('login', result, 6 * MINUTE_MS);
      expect(overdueAt(7)).toEqual([]);
    }
  });

  test('whatever tokens others make up, or send too late', () => {
    outcomes.reserved('login', 0);
    outcomes.settled('none', 'forged', MINUTE_MS);
    outcomes.settled('login', 'ended', MINUTE_MS);
    expect(overdueAt(5)).toHaveLength(1);
    expect(outcomes.latest()).toEqual([]);
  });

  test('unless another gateway got an outcome since', () => {
    outcomes.reserved('login', 2 * MINUTE_MS);
    outcomes.heard('login', MINUTE_MS);
    for (let i = 0; i < 10; i++) outcomes.reserved('login', 3 * MINUTE_MS);
    expect(overdueAt(9)).toHaveLength(1);
    outcomes.heard('login', 8 * MINUTE_MS);
    expect(overdueAt(9)).toEqual([]);
  });
});

test('a gateway that only settles says so', () => {
  outcomes.settled('login', 'settled', 5);
  outcomes.settled('none', 'forged', 6);
  expect(outcomes.latest()).toEqual([{ policy: 'login', lastMs: 5 }]);
  expect(overdueAt(60)).toEqual([]);
});

test('reservations are counted by policy', () => {
  outcomes.reserved('login', 0);
  outcomes.reserved('login', 0);
  outcomes.settled('search', 'settled', 0);
  expect([...outcomes.reservations()]).toEqual([[{ policy: 'login' }, 2]]);
});
