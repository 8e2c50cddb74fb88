import { describe, expect, test } from 'vitest';
import type { Descriptor } from '../../../../src/core/store.ts';
import { TakeArguments, TakeReply } from '../../../../src/stores/redis/take-script.ts';
import { descriptorOf, quotaOf } from '../../../support/quotas.ts';
import { NOON_MS } from '../../../support/requests.ts';

const QUOTA = quotaOf({ limit: 5, windowMs: 1_000 });
const descriptor = (key: string, cost = 1) => ({ key, quota: QUOTA, cost });

describe('arguments', () => {
  test('send each quota once, and two bytes per key', () => {
    const call = new TakeArguments();
    call.add([descriptor('a'), descriptor('b', 2)]);
    call.add([descriptor('c')]);
    expect(call.keys).toEqual(['a', 'b', 'c']);
    const rows = ['log', 5, 1_000, 5, 1, 0, 'log', 5, 1_000, 5, 2, 0];
    expect(call.values()).toEqual([-1, call.number, '  !` `', ...rows]);
    expect(call.values(99)[0]).toBe(99);
  });
  test('name rows beyond the first 64 by their second byte', () => {
    const call = new TakeArguments();
    call.add(Array.from({ length: 2_048 }, (_, i) => descriptor('a', i + 1)));
    const bytes = Buffer.from(String(call.values()[2]), 'latin1');
    expect(bytes).toHaveLength(2 * 2_048);
    const rows = Array.from({ length: 2_048 }, (_, i) => {
      const [low = 0, high = 0] = bytes.subarray(2 * i, 2 * i + 2);
      return low - 32 + ((high - 32) % 64) * 64;
    });
    expect(rows).toEqual(Array.from({ length: 2_048 }, (_, i) => i));
    const isLast = Array.from({ length: 2_048 }, (_, i) => (bytes[2 * i + 1] ?? 0) >= 96);
    expect(isLast.indexOf(true)).toBe(2_047);
  });
  test('share a row only if quota and cost are the same', () => {
    const call = new TakeArguments();
    const other = { ...QUOTA };
    call.add([
      descriptor('a'),
      descriptor('b'),
      { key: 'c', quota: other, cost: 1 },
      descriptor('d', 2),
    ]);
    expect(call.values()).toHaveLength(3 + 6 * 3);
    expect(call.values()[2]).toBe('    ! "`');
  });
  test('have another number for every call', () => {
    expect(new TakeArguments().number).not.toBe(new TakeArguments().number);
  });
  test('distinguish 2048 quotas, and refuse more', () => {
    const call = new TakeArguments();
    const many = Array.from({ length: 2_048 }, (_, i) => descriptor('a', i + 1));
    call.add(many);
    expect(call.values()).toHaveLength(3 + 6 * 2_048);
    expect(() => call.add([descriptor('a', 9_999)])).toThrow('2048 different quotas');
  });
});

describe('a reply', () => {
  const CALL = 7;
  const [a, b, c] = ['a', 'b', 'c'].map((key) => descriptorOf(key, QUOTA));
  const read = (reply: unknown, requests: readonly (readonly (Descriptor | undefined)[])[]) => {
    const taken = new TakeReply(reply, CALL);
    const results = requests.map((request) => taken.read(request as Descriptor[]));
    taken.end();
    return results;
  };
  test('is read request after request', () => {
    const reply = [CALL, NOON_MS, 4, 1_000, -1, 500, 200, -4, 900];
    expect(read(reply, [[a], [b, c]])).toEqual([
      {
        admitted: true,
        states: [{ limit: 5, remaining: 4, resetAfterMs: 1_000, retryAfterMs: 0 }],
        nowMs: NOON_MS,
      },
      {
        admitted: false,
        states: [
          { limit: 5, remaining: 0, resetAfterMs: 500, retryAfterMs: 200 },
          { limit: 5, remaining: 3, resetAfterMs: 900, retryAfterMs: 0 },
        ],
        nowMs: NOON_MS,
      },
    ]);
  });
  test.each([
    ['of another shape', null],
    ['of a status', 'OK'],
    ['of nothing', []],
    ['too short', [CALL, NOON_MS, 4]],
    ['without the wait that belongs to nothing left', [CALL, NOON_MS, 0, 500]],
    ['too long', [CALL, NOON_MS, 4, 500, 0]],
    ['with a word', [CALL, NOON_MS, 4, 'x']],
    ['to another call', [CALL + 1, NOON_MS, 4, 500]],
    ['with a clock in seconds', [CALL, NOON_MS / 1_000, 4, 500]],
    ['with all left after a take', [CALL, NOON_MS, 5, 500]],
    ['with more left than there is', [CALL, NOON_MS, -7, 500]],
    ['with a reset longer than the window', [CALL, NOON_MS, 4, 1_001]],
    ['with a reset in the past', [CALL, NOON_MS, 4, -1]],
    ['with a wait longer than the window', [CALL, NOON_MS, -1, 500, 1_001]],
    ['with a fraction', [CALL, NOON_MS, 4, 500.5]],
    ['with a wait in the past', [CALL, NOON_MS, -1, 500, -1]],
    ['with a denial that need not wait', [CALL, NOON_MS, -4, 500]],
  ])('%s is refused', (_, reply) => {
    expect(() => read(reply, [[a]])).toThrow('cannot have returned');
  });
  test('of a request that is both admitted and denied is refused', () => {
    expect(() => read([CALL, NOON_MS, 4, 500, -1, 500, 200], [[a, b]])).toThrow(
      'cannot have returned',
    );
  });
  test.each([
    ['sliding-window-log', 1_000],
    ['sliding-window-counter', 2_000],
    ['token-bucket', 200_000_000],
  ] as const)('of a %s may take %i ms to be full again', (algorithm, longestMs) => {
    const one = descriptorOf('a', { ...QUOTA, algorithm });
    const reply = (resetMs: number) => [CALL, NOON_MS, 4, resetMs];
    expect(read(reply(longestMs), [[one]])[0]?.states[0]?.resetAfterMs).toBe(longestMs);
    expect(() => read(reply(longestMs + 1), [[one]])).toThrow('cannot have returned');
  });
  test('of a peek may have all units left', () => {
    const peeked = new TakeReply([CALL, NOON_MS, -6, 0], CALL).peeked([a as Descriptor]);
    expect(peeked).toEqual({
      states: [{ limit: 5, remaining: 5, resetAfterMs: 0, retryAfterMs: 0 }],
      nowMs: NOON_MS,
    });
  });
});
