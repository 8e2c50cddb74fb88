import { describe, expect, test } from 'vitest';
import { decide } from '../../../../../src/gateway/core/counting/decision.ts';
import type { LimitDescriptor } from '../../../../../src/gateway/core/counting/descriptor.ts';
import type { QuotaState } from '../../../../../src/gateway/core/counting/store.ts';
import { loginPolicy } from '../../../../support/policies.ts';

const { limits } = loginPolicy('[5/5min, { rate: 50/5min, per: ip }, 100/1h]');
const descriptors: LimitDescriptor[] = limits.map((source) => ({
  key: source.label,
  quota: source.quota,
  cost: source.cost,
  source,
}));

function state(limit: number, remaining: number, retryAfterMs = 0): QuotaState {
  return { limit, remaining, resetAfterMs: 1_000, retryAfterMs };
}

describe('the binding limit', () => {
  test('of an admitted request has the least remaining fraction', () => {
    const states = [state(5, 4), state(50, 1), state(100, 99)];
    const decision = decide([
      { descriptors: descriptors, result: { admitted: true, states, nowMs: 0 }, mode: 'enforced' },
    ]);
    expect(decision).toMatchObject({ verdict: 'allow', reason: 'within_limits', policy: 'login' });
    expect(decision.binding?.limit.label).toBe('login:ip:5min');
  });
  test('of an admitted request may have more requests left than another limit', () => {
    const states = [state(5, 4), state(50, 10), state(100, 99)];
    const decision = decide([
      { descriptors: descriptors, result: { admitted: true, states, nowMs: 0 }, mode: 'enforced' },
    ]);
    expect(decision.binding).toEqual({
      ...{ limit: limits[1], state: states[1], nowMs: 0, key: 'login:ip:5min' },
    });
    expect(decision.limits).toEqual(limits);
    expect(decision.mode).toBe('enforced');
  });
  test('of a denied request has the longest wait', () => {
    const states = [state(5, 0, 1_000), state(50, 0, 9_000), state(100, 0, 5_000)];
    const decision = decide([
      { descriptors: descriptors, result: { admitted: false, states, nowMs: 0 }, mode: 'enforced' },
    ]);
    expect(decision).toMatchObject({ verdict: 'deny', reason: 'over_limit' });
    expect(decision.binding?.limit.label).toBe('login:ip:5min');
  });
  test('of a denied request is one that denied it', () => {
    const states = [state(5, 1, 0), state(50, 0, 1), state(100, 0, 0)];
    const decision = decide([
      { descriptors: descriptors, result: { admitted: false, states, nowMs: 0 }, mode: 'enforced' },
    ]);
    expect(decision.binding?.limit.label).toBe('login:ip:5min');
  });
  test.each([
    ['the previous, which has less left', 0, 2, 'before'],
    ['the current, if both have as much left', 2, 2, 'now'],
  ])('of two names with the same wait is that of %s', (_, leftBefore, leftNow, key) => {
    const [before] = descriptors as [LimitDescriptor];
    const names = [
      { ...before, key: 'before', cost: 3 },
      { ...before, key: 'now', cost: 3, previousKey: 'before' },
    ];
    const states = [state(5, leftBefore, 9_000), state(5, leftNow, 9_000)];
    const result = { admitted: false, states, nowMs: 0 };
    const { binding } = decide([{ descriptors: names, result, mode: 'enforced' }]);
    expect(binding?.key).toBe(key);
  });
  test('is the first of equals', () => {
    const states = [state(5, 5), state(50, 50), state(100, 100)];
    const decision = decide([
      { descriptors: descriptors, result: { admitted: true, states, nowMs: 0 }, mode: 'enforced' },
    ]);
    expect(decision.binding?.limit.label).toBe('login');
  });
});

test('a limit that was not checked is never the binding one', () => {
  const states = [undefined, state(50, 0, 1), undefined];
  const decision = decide([
    { descriptors: descriptors, result: { admitted: false, states, nowMs: 7 }, mode: 'local' },
  ]);
  expect(decision).toMatchObject({ mode: 'local', binding: { limit: limits[1], nowMs: 7 } });
});

test('a result without a state is an error', () => {
  expect(() =>
    decide([
      { descriptors: [], result: { admitted: true, states: [], nowMs: 0 }, mode: 'enforced' },
    ]),
  ).toThrow(RangeError);
});
