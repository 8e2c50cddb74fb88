import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Descriptor } from '../../../../src/gateway/core/counting/store.ts';
import { localShare, shareOf } from '../../../../src/gateway/stores/local-share.ts';
import { MemoryStore } from '../../../../src/gateway/stores/memory/memory-store.ts';
import { descriptorOf, quotaOf } from '../../../support/quotas.ts';
import { NOON_MS } from '../../../support/requests.ts';

const shares = (limit: number, cost: number, key: string, count: number) =>
  Array.from(
    { length: count },
    (_, rank) =>
      shareOf({ quota: quotaOf({ limit, windowMs: 60_000 }), cost, key }, { count, rank }).limit,
  );

describe('the shares of all gateways', () => {
  test('add up to the limit, in whole requests', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 10_000 }),
        fc.integer({ min: 1, max: 20 }),
        fc.string(),
        fc.integer({ min: 1, max: 50 }),
        (limit, cost, key, count) => {
          const all = shares(limit, cost, key, count);
          const sum = all.reduce((a, b) => a + b, 0);
          expect(sum).toBe(Math.floor(limit / cost) * cost);
          expect(Math.max(...all) - Math.min(...all)).toBeLessThanOrEqual(cost);
        },
      ),
    );
  });
  test('depend on the key, so that no gateway denies every client', () => {
    const first = new Set(
      Array.from({ length: 50 }, (_, i) => shares(1, 1, `key ${i}`, 4).indexOf(1)),
    );
    expect(first).toEqual(new Set([0, 1, 2, 3]));
  });
  test.each([0, -3])('of checks and refunds are those of single units: cost %i', (cost) => {
    expect(shares(11, cost, 'a', 4)).toEqual(shares(11, 1, 'a', 4));
  });
  test('of a large fixed window are exact', () => {
    const all = shares(2 ** 32 - 1, 1, 'a', 7);
    expect(all.reduce((a, b) => a + b, 0)).toBe(2 ** 32 - 1);
  });
  test('of a token bucket refill', () => {
    const bucket = quotaOf({ algorithm: 'token-bucket', limit: 2, burst: 10, windowMs: 60_000 });
    expect(shareOf({ quota: bucket, cost: 1, key: 'a' }, { count: 4, rank: 0 })).toMatchObject({
      limit: 1,
    });
    const bursts = [0, 1, 2, 3].map(
      (rank) => shareOf({ quota: bucket, cost: 1, key: 'a' }, { count: 4, rank }).burst,
    );
    expect(bursts.sort()).toEqual([2, 2, 3, 3]);
  });
});

test('gateways together admit the limit at most, if each request of a counter reserves something else', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 300 }),
      fc.integer({ min: 1, max: 40 }),
      fc.integer({ min: 1, max: 6 }),
      fc.array(fc.tuple(fc.nat(5), fc.integer({ min: 0, max: 60 })), { maxLength: 60 }),
      (limit, usualCost, count, requests) => {
        const quota = quotaOf({ limit, windowMs: 60_000, algorithm: 'sliding-window-counter' });
        const gateways = Array.from({ length: count }, (_, rank) =>
          localShare(new MemoryStore({ now: () => NOON_MS, maxKeys: 10 }), () => ({ count, rank })),
        );
        let sum = 0;
        for (const [at, cost] of requests) {
          const descriptor = { key: 'a', quota, cost, ...(cost !== usualCost && { usualCost }) };
          if (gateways[at % count]?.take([descriptor]).admitted) sum += cost;
        }
        expect(sum).toBeLessThanOrEqual(limit);
      },
    ),
  );
});

describe('the local limiter', () => {
  const quota = quotaOf({ limit: 8, windowMs: 60_000 });
  const place = { count: 4, rank: 0 };
  const admitted = (local: ReturnType<typeof localShare>, times: number) =>
    Array.from({ length: times }, () => local.take([descriptorOf('a', quota)]).admitted).filter(
      Boolean,
    ).length;
  const createLocal = () =>
    localShare(new MemoryStore({ now: () => NOON_MS, maxKeys: 1_000 }), () => place);

  test('admits the share of this gateway', () => {
    expect(admitted(createLocal(), 5)).toBe(2);
  });
  test('includes requests that the store admitted before', () => {
    const local = createLocal();
    local.record([descriptorOf('a', quota)]);
    expect(admitted(local, 5)).toBe(1);
  });
  test('gives units back', () => {
    const local = createLocal();
    const [two, refund] = [1, -1].map((cost) => descriptorOf('a', { ...quota, cost }));
    for (let i = 0; i < 2; i++) local.take([two as Descriptor]);
    expect(local.take([two as Descriptor]).admitted).toBe(false);
    local.record([refund as Descriptor]);
    expect(admitted(local, 5)).toBe(1);
    expect(local.take([refund as Descriptor]).admitted).toBe(true);
    expect(admitted(local, 5)).toBe(1);
  });
  test('denies if more than the share was already admitted', () => {
    const local = createLocal();
    for (let i = 0; i < 8; i++) local.record([descriptorOf('a', quota)]);
    expect(admitted(local, 5)).toBe(0);
  });
});

test('a settlement corrects the share of this gateway, at the pace of its share', async () => {
  const clock = { nowMs: NOON_MS };
  const memory = new MemoryStore({ now: () => clock.nowMs, maxKeys: 10 });
  const share = localShare(memory, () => ({ count: 4, rank: 0 }));
  const bucket = { limit: 40, burst: 40, windowMs: 40_000, algorithm: 'token-bucket' as const };
  const descriptor = descriptorOf('a', { ...bucket, cost: 4 });
  const { key, quota } = descriptor;
  const part = { key, quota, momentMs: NOON_MS, reserved: 4 };
  const settle = (id: string, used: number) =>
    share.settle({ id, endsMs: NOON_MS + 60_000, parts: [{ ...part, used }] });
  const left = async () => (await share.peek([descriptor])).states[0]?.remaining;
  expect(share.take([descriptor]).admitted).toBe(true);
  expect(await left()).toBe(8);
  // A quarter of the limit flows back: 1 unit in 4 s, and the other three can still be given back.
  clock.nowMs += 4_000;
  expect(await settle('x', 0)).toEqual({ parts: [{ state: 'settled', cut: 0 }] });
  expect(await left()).toBe(12);
  expect(await settle('x', 0)).toEqual({ parts: [{ state: 'repeated', cut: 0 }] });
  // A surplus is at most the share.
  expect(await settle('y', 30)).toEqual({ parts: [{ state: 'settled', cut: 16 }] });
});
