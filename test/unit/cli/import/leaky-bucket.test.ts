/** NGINX's leaky bucket and headgate's token bucket of burst + 1 let the same requests pass, at any times. */
import { expect, test } from 'vitest';
import type { Quota } from '../../../../src/gateway/core/counting/store.ts';
import { TokenBucket } from '../../../../src/gateway/stores/memory/token-bucket.ts';
import { Random } from '../../../support/random.ts';

/** As NGINX counts: thousandths of requests, which leak by the millisecond. */
class LeakyBucket {
  readonly #perSecond: number;
  readonly #burst: number;
  #excess: number | undefined;
  #lastMs = 0;

  constructor(perSecond: number, burst: number) {
    this.#perSecond = perSecond;
    this.#burst = burst;
  }

  passes(nowMs: number): boolean {
    const leaked = this.#perSecond * (nowMs - this.#lastMs);
    const excess = this.#excess === undefined ? 0 : Math.max(0, this.#excess - leaked + 1_000);
    if (excess > this.#burst * 1_000) return false;
    this.#excess = excess;
    this.#lastMs = nowMs;
    return true;
  }
}

test.each([
  [1, 0],
  [1, 5],
  [2, 1],
  [10, 20],
  [100, 0],
  [333, 7],
  [1_000, 50],
])('%d requests a second with a burst of %d', (limit, burst) => {
  const random = new Random(limit + burst);
  const leaky = new LeakyBucket(limit, burst);
  const bucket = new TokenBucket();
  const quota: Quota = {
    ...{ algorithm: 'token-bucket', limit, windowMs: 1_000, burst: burst + 1 },
    countRejected: false,
  };
  const seen = { passed: 0, denied: 0 };
  let nowMs = 1_000;
  for (let i = 0; i < 5_000; i++) {
    nowMs += random.next() < 0.5 ? 0 : Math.floor(random.exponential(1_400 / limit));
    const passes = bucket.fits({ quota, cost: 1 }, nowMs);
    bucket.record({ quota, cost: 1 }, nowMs, passes);
    expect(passes, `request ${i} at ${nowMs}`).toBe(leaky.passes(nowMs));
    if (passes) seen.passed++;
    else seen.denied++;
  }
  expect(Math.min(seen.passed, seen.denied)).toBeGreaterThan(100);
});
