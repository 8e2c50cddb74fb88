import { describe, expect, test } from 'vitest';
import type { Check } from '../../../src/core/check.ts';
import type { Decision } from '../../../src/core/decision.ts';
import { countOnce } from '../../../src/core/repeated-check.ts';
import { policySetFrom } from '../../support/policies.ts';
import { checkRequest, NOON_MS } from '../../support/requests.ts';

const SET = policySetFrom('{ version: 1, default: { limits: [1000/1h] } }');

/** Decisions with the number of the count in place of a policy. */
function counting(decide: (count: number) => ReturnType<Check> = decisionOf) {
  let counts = 0;
  const check = countOnce(() => decide(++counts));
  return {
    ask: (requestId: string | undefined, nowMs = NOON_MS) =>
      check(checkRequest(requestId === undefined ? {} : { requestId }), SET, nowMs),
    counts: () => counts,
  };
}

function decisionOf(count: number): Decision {
  return {
    verdict: 'allow',
    reason: 'within_limits',
    mode: 'enforced',
    policy: String(count),
    binding: undefined,
    limits: [],
  };
}

const first = decisionOf(1);
const firstAgain = { ...first, isRepeated: true };

describe('an id that was seen a moment before', () => {
  test('gets the first decision again, and is not counted', () => {
    const { ask, counts } = counting();
    expect(ask('a')).toEqual(first);
    expect(ask('a')).toEqual(firstAgain);
    expect(ask('a', NOON_MS + 1_999)).toEqual(firstAgain);
    expect(counts()).toBe(1);
  });
  test('is forgotten two seconds after it was counted, however often it came meanwhile', () => {
    const { ask } = counting();
    void ask('a');
    void ask('a', NOON_MS + 1_999);
    expect(ask('a', NOON_MS + 2_000)).toEqual(decisionOf(2));
    expect(ask('a', NOON_MS + 3_999)).toEqual({ ...decisionOf(2), isRepeated: true });
  });
  test('is remembered for as long when others come all the time', () => {
    const { ask } = counting();
    for (let ms = 0; ms < 10_000; ms += 100) {
      const counted = ask(`at ${ms}`, NOON_MS + ms);
      const earlier = ms - 1_900;
      if (earlier >= 0) {
        expect(ask(`at ${earlier}`, NOON_MS + ms)).toHaveProperty('isRepeated', true);
      }
      expect(counted).not.toHaveProperty('isRepeated');
    }
  });
  test('is one of its own, whatever the objects of others inherit', () => {
    const { ask } = counting();
    for (const id of ['__proto__', 'constructor', 'toString']) {
      expect(ask(id)).not.toHaveProperty('isRepeated');
    }
  });
});

describe('no decision is repeated', () => {
  test('without an id', () => {
    const { ask, counts } = counting();
    for (let i = 0; i < 3; i++) expect(ask(undefined)).not.toHaveProperty('isRepeated');
    expect(counts()).toBe(3);
  });
  test('for an id that no proxy makes up: it would only take memory', () => {
    const { ask, counts } = counting();
    void ask('a'.repeat(65));
    void ask('a'.repeat(65));
    expect(counts()).toBe(2);
    void ask('a'.repeat(64));
    expect(ask('a'.repeat(64))).toHaveProperty('isRepeated', true);
  });
  test('of a time to come, when the clock was set back', () => {
    const { ask } = counting();
    void ask('a');
    expect(ask('a', NOON_MS - 1)).toEqual(decisionOf(2));
    expect(ask('a', NOON_MS)).toEqual({ ...decisionOf(2), isRepeated: true });
  });
});

test('after the clock was set back by a day ids are remembered as before', () => {
  const { ask } = counting();
  const yesterdayMs = NOON_MS - 86_400_000;
  void ask('a');
  for (const id of ['b', 'c', 'd']) void ask(id, yesterdayMs);
  for (const id of ['b', 'c', 'd']) {
    expect(ask(id, yesterdayMs + 500)).toHaveProperty('isRepeated', true);
  }
});

describe('while the first is under way', () => {
  test('the second waits for it, and is not counted', async () => {
    const pending = Promise.withResolvers<Decision>();
    const { ask, counts } = counting(() => pending.promise);
    const both = [ask('a'), ask('a', NOON_MS + 10)];
    expect(counts()).toBe(1);
    pending.resolve(first);
    expect(await Promise.all(both)).toEqual([first, firstAgain]);
    expect(await ask('a', NOON_MS + 20)).toEqual(firstAgain);
  });
  test('and fails, the second is decided itself', async () => {
    const pending = Promise.withResolvers<Decision>();
    const { ask } = counting((count) => (count === 1 ? pending.promise : decisionOf(count)));
    const both = [ask('a'), ask('a', NOON_MS + 10)];
    pending.reject(new Error('a fault'));
    await expect(both[0]).rejects.toThrow('a fault');
    expect(await both[1]).toEqual(decisionOf(2));
  });
});

test('a first one that fails at once is not remembered', () => {
  const { ask } = counting((count) => {
    if (count === 1) throw new Error('a fault');
    return decisionOf(count);
  });
  expect(() => ask('a')).toThrow('a fault');
  expect(ask('a')).toEqual(decisionOf(2));
});

describe('of very many ids within a moment', () => {
  const KEPT_AT_LEAST = 20_000;
  const { ask } = counting();
  for (let i = 0; i < 5 * KEPT_AT_LEAST; i++) void ask(`id ${i}`);
  const isKept = (i: number) => 'isRepeated' in (ask(`id ${i}`) as Decision);

  test('the latest are kept', () => {
    expect(isKept(5 * KEPT_AT_LEAST - 1)).toBe(true);
    expect(isKept(4 * KEPT_AT_LEAST)).toBe(true);
  });
  test('no more than twice as many', () => {
    expect(isKept(3 * KEPT_AT_LEAST - 1)).toBe(false);
    expect(isKept(0)).toBe(false);
  });
});
