import { describe, expect, test } from 'vitest';
import type { Descriptor } from '../../../../../src/gateway/core/counting/store.ts';
import { TakeArguments, TakeReply } from '../../../../../src/gateway/stores/redis/take-script.ts';
import { calendarQuota, descriptorOf, quotaOf } from '../../../../support/quotas.ts';
import { NOON_MS } from '../../../../support/requests.ts';

const CLOCKS = { ownMs: NOON_MS };
const QUOTA = quotaOf({ limit: 5, windowMs: 1_000 });
const descriptor = (key: string, cost = 1) => ({ key, quota: QUOTA, cost });

describe('arguments', () => {
  test('send each quota once, and two bytes per key', () => {
    const call = new TakeArguments();
    call.add([descriptor('a'), descriptor('b', 2)]);
    call.add([descriptor('c')]);
    expect(call.keys).toEqual(['a', 'b', 'c']);
    const rows = ['log', 5, 1_000, 5, 1, 0, 'log', 5, 1_000, 5, 2, 0];
    expect(call.values(CLOCKS)).toEqual([-1, call.number, '  !` `', ...rows]);
    expect(call.values({ ownMs: NOON_MS, serverMs: 99 })[0]).toBe(99);
  });
  test('name rows beyond the first 64 by their second byte', () => {
    const call = new TakeArguments();
    call.add(Array.from({ length: 2_048 }, (_, i) => descriptor('a', i + 1)));
    const bytes = Buffer.from(String(call.values(CLOCKS)[2]), 'latin1');
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
    expect(call.values(CLOCKS)).toHaveLength(3 + 6 * 3);
    expect(call.values(CLOCKS)[2]).toBe('    ! "`');
  });
  test('name fixed windows, checks, refunds and large numbers as Lua reads them', () => {
    const call = new TakeArguments();
    const quota = quotaOf({ limit: 2 ** 32 - 1, windowMs: 1_000, algorithm: 'fixed-window' });
    call.add([0, -(2 ** 52)].map((cost) => ({ key: 'a', quota, cost })));
    expect(call.values(CLOCKS).slice(3).map(String)).toEqual([
      ...['fixed', '4294967295', '1000', '4294967295', '0', '0'],
      ...['fixed', '4294967295', '1000', '4294967295', '-4503599627370496', '0'],
    ]);
  });
  test('have the windows of a calendar by the clock of the gateway', () => {
    const call = new TakeArguments();
    call.add([{ key: 'a', quota: calendarQuota(9, 'month', 'Europe/Zurich'), cost: 1 }]);
    const windowAt = (moment: string) => call.values({ ownMs: Date.parse(moment), serverMs: 1 })[5];
    const [october, november, december, january] = [
      ...['2026-09-30T22:00Z', '2026-10-31T23:00Z', '2026-11-30T23:00Z', '2026-12-31T23:00Z'],
    ].map((each) => Date.parse(each));
    const text = `${october} ${november} ${december} ${january}`;
    expect(windowAt('2026-11-01T00:00Z')).toBe(text);
    expect(windowAt('2026-11-30T22:59Z')).toBe(text);
    expect(windowAt('2026-11-30T23:00Z')).not.toBe(text);
  });
  test('say of a token bucket where its previous name is, or what it owes at least', () => {
    const call = new TakeArguments();
    const quota = quotaOf({ limit: 5, windowMs: 1_000, algorithm: 'token-bucket' });
    call.add([
      { key: 'old', quota, cost: 1 },
      descriptor('b'),
      { key: 'new', quota, cost: 1, previousKey: 'old' },
    ]);
    call.add([{ key: 'new', quota, cost: 1, previousKey: 'in another slot', leastDebt: 700 }]);
    const algorithms = call.values(CLOCKS).filter((_, i) => i >= 3 && (i - 3) % 6 === 0);
    expect(algorithms).toEqual(['bucket', 'log', 'bucket-2', 'bucket+700']);
  });
  test('have another number for every call', () => {
    expect(new TakeArguments().number).not.toBe(new TakeArguments().number);
  });
  test('distinguish 2048 quotas, and refuse more', () => {
    const call = new TakeArguments();
    const many = Array.from({ length: 2_048 }, (_, i) => descriptor('a', i + 1));
    call.add(many);
    expect(call.values(CLOCKS)).toHaveLength(3 + 6 * 2_048);
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
    ['token-bucket', 200_000_200],
    ['fixed-window', 1_000],
  ] as const)('of a %s may take %i ms to be full again', (algorithm, longestMs) => {
    const one = descriptorOf('a', { ...QUOTA, algorithm });
    // The script returns the debt of a bucket, of which 5 flow back in a millisecond.
    const perMs = algorithm === 'token-bucket' ? 5 : 1;
    const reply = (resetMs: number) => [CALL, NOON_MS, 4, resetMs * perMs];
    expect(read(reply(longestMs), [[one]])[0]?.states[0]?.resetAfterMs).toBe(longestMs);
    expect(() => read(reply(longestMs + 1), [[one]])).toThrow('cannot have returned');
  });
  test.each([
    ['a check', 0],
    ['a refund', -2],
  ])('to %s names a wait only if nothing is left', (_, cost) => {
    const one = descriptorOf('a', { ...QUOTA, cost });
    expect(read([CALL, NOON_MS, 5, 0], [[one]])[0]).toMatchObject({
      admitted: true,
      states: [{ remaining: 5, retryAfterMs: 0 }],
    });
    expect(read([CALL, NOON_MS, 0, 500, 0], [[one]])[0]).toMatchObject({
      admitted: true,
      states: [{ remaining: 0, retryAfterMs: 0 }],
    });
    expect(read([CALL, NOON_MS, -1, 500, 300], [[one]])[0]).toMatchObject({
      admitted: false,
      states: [{ remaining: 0, retryAfterMs: 300 }],
    });
    expect(() => read([CALL, NOON_MS, 0, 500], [[one]])).toThrow('cannot have returned');
    expect(() => read([CALL, NOON_MS, 3, 500, 0], [[one]])).toThrow('cannot have returned');
    expect(() => read([CALL, NOON_MS, 6, 500], [[one]])).toThrow('cannot have returned');
  });
  test('that admits a cost above the limit is refused', () => {
    const one = descriptorOf('a', { ...QUOTA, cost: 6 });
    expect(() => read([CALL, NOON_MS, 0, 500, 0], [[one]])).toThrow('cannot have returned');
    expect(read([CALL, NOON_MS, -1, 500, 300], [[one]])[0]?.admitted).toBe(false);
  });
  test('of a fixed window may have 2^32 - 1 units left', () => {
    const limit = 2 ** 32 - 1;
    const one = descriptorOf('a', { limit, windowMs: 1_000, algorithm: 'fixed-window' });
    const taken = read([CALL, NOON_MS, limit - 1, 500], [[one]]);
    expect(taken[0]?.states[0]?.remaining).toBe(limit - 1);
    expect(() => read([CALL, NOON_MS, limit, 500], [[one]])).toThrow('cannot have returned');
  });
  test('of a window by the calendar may take a day longer than any window so far', () => {
    const one = { key: 'a', quota: calendarQuota(5, 'week', 'Europe/Zurich'), cost: 1 };
    const longestMs = (8 * 24 + 3) * 3_600_000;
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
