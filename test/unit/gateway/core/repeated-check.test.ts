import { describe, expect, test } from 'vitest';
import type { Check } from '../../../../src/gateway/core/check.ts';
import type { Decision } from '../../../../src/gateway/core/counting/decision.ts';
import { countOnce } from '../../../../src/gateway/core/repeated-check.ts';
import { policySetFrom } from '../../../support/policies.ts';
import { checkRequest, NOON_MS } from '../../../support/requests.ts';

const SET = policySetFrom('{ version: 1, default: { limits: [1000/1h] } }');

/** The policy of each decision is the number of checks so far. */
function counting(decide: (count: number) => ReturnType<Check> = decisionOf) {
  let counts = 0;
  const check = countOnce(() => decide(++counts));
  return {
    send: (requestId: string | undefined, nowMs = NOON_MS) =>
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

describe('a check with an id of the last two seconds', () => {
  test('gets the first decision again and is not counted', () => {
    const { send, counts } = counting();
    expect(send('a')).toEqual(first);
    expect(send('a')).toEqual(firstAgain);
    expect(send('a', NOON_MS + 1_999)).toEqual(firstAgain);
    expect(counts()).toBe(1);
  });
  test('is counted again two seconds after the first, even if it was repeated meanwhile', () => {
    const { send } = counting();
    void send('a');
    void send('a', NOON_MS + 1_999);
    expect(send('a', NOON_MS + 2_000)).toEqual(decisionOf(2));
    expect(send('a', NOON_MS + 3_999)).toEqual({ ...decisionOf(2), isRepeated: true });
  });
  test('is recognized while many other ids arrive', () => {
    const { send } = counting();
    for (let ms = 0; ms < 10_000; ms += 100) {
      const counted = send(`at ${ms}`, NOON_MS + ms);
      const earlier = ms - 1_900;
      if (earlier >= 0) {
        expect(send(`at ${earlier}`, NOON_MS + ms)).toHaveProperty('isRepeated', true);
      }
      expect(counted).not.toHaveProperty('isRepeated');
    }
  });
  test('may have an id that is the name of an object property', () => {
    const { send } = counting();
    for (const id of ['__proto__', 'constructor', 'toString']) {
      expect(send(id)).not.toHaveProperty('isRepeated');
    }
  });
});

describe('no decision is repeated', () => {
  test('without an id', () => {
    const { send, counts } = counting();
    for (let i = 0; i < 3; i++) expect(send(undefined)).not.toHaveProperty('isRepeated');
    expect(counts()).toBe(3);
  });
  test('for an id longer than any proxy makes, which would only take memory', () => {
    const { send, counts } = counting();
    void send('a'.repeat(65));
    void send('a'.repeat(65));
    expect(counts()).toBe(2);
    void send('a'.repeat(64));
    expect(send('a'.repeat(64))).toHaveProperty('isRepeated', true);
  });
  test('from the future, if the clock was set back', () => {
    const { send } = counting();
    void send('a');
    expect(send('a', NOON_MS - 1)).toEqual(decisionOf(2));
    expect(send('a', NOON_MS)).toEqual({ ...decisionOf(2), isRepeated: true });
  });
});

test('ids are recognized after the clock was set back by a day', () => {
  const { send } = counting();
  const yesterdayMs = NOON_MS - 86_400_000;
  void send('a');
  for (const id of ['b', 'c', 'd']) void send(id, yesterdayMs);
  for (const id of ['b', 'c', 'd']) {
    expect(send(id, yesterdayMs + 500)).toHaveProperty('isRepeated', true);
  }
});

describe('while the first check is pending', () => {
  test('the second waits for it and is not counted', async () => {
    const pending = Promise.withResolvers<Decision>();
    const { send, counts } = counting(() => pending.promise);
    const both = [send('a'), send('a', NOON_MS + 10)];
    expect(counts()).toBe(1);
    pending.resolve(first);
    expect(await Promise.all(both)).toEqual([first, firstAgain]);
    expect(await send('a', NOON_MS + 20)).toEqual(firstAgain);
  });
  test('and then fails, the second is checked itself', async () => {
    const pending = Promise.withResolvers<Decision>();
    const { send } = counting((count) => (count === 1 ? pending.promise : decisionOf(count)));
    const both = [send('a'), send('a', NOON_MS + 10)];
    pending.reject(new Error('a fault'));
    await expect(both[0]).rejects.toThrow('a fault');
    expect(await both[1]).toEqual(decisionOf(2));
  });
});

test('a first check that throws is not remembered', () => {
  const { send } = counting((count) => {
    if (count === 1) throw new Error('a fault');
    return decisionOf(count);
  });
  expect(() => send('a')).toThrow('a fault');
  expect(send('a')).toEqual(decisionOf(2));
});

describe('of very many ids within two seconds', () => {
  const KEPT_AT_LEAST = 20_000;
  const { send } = counting();
  for (let i = 0; i < 5 * KEPT_AT_LEAST; i++) void send(`id ${i}`);
  const isKept = (i: number) => 'isRepeated' in (send(`id ${i}`) as Decision);

  test('the latest are recognized', () => {
    expect(isKept(5 * KEPT_AT_LEAST - 1)).toBe(true);
    expect(isKept(4 * KEPT_AT_LEAST)).toBe(true);
  });
  test('the oldest are forgotten', () => {
    expect(isKept(3 * KEPT_AT_LEAST - 1)).toBe(false);
    expect(isKept(0)).toBe(false);
  });
});
