/**
 * Token bucket, kept as a debt (GCRA, ITU-T I.371, annex A). Debt is counted in units x windowMs, and every millisecond
 * repays `limit` of it. These are whole numbers below 2^53, so nothing is rounded.
 */
import type { Quota, QuotaState } from '../../core/store.ts';
import type { Meter, MeteredRequest } from './meter.ts';

export class TokenBucket implements Meter {
  used = false;
  #atMs = 0;
  #debt = 0;
  #overAtMs = Number.NEGATIVE_INFINITY;

  get overAtMs(): number {
    return this.#overAtMs;
  }

  fits({ quota, cost }: MeteredRequest, nowMs: number): boolean {
    // If the clock was set back, the debt is kept, as of now.
    this.#atMs = Math.min(this.#atMs, nowMs);
    return this.#debtAt(quota, nowMs) + cost * quota.windowMs <= quota.burst * quota.windowMs;
  }

  settle({ quota, cost }: MeteredRequest, nowMs: number, admitted: boolean): QuotaState {
    const { limit, windowMs, burst } = quota;
    let debt = this.#debtAt(quota, nowMs);
    if (admitted || quota.countRejected) {
      const more = debt + cost * windowMs;
      debt = admitted ? more : Math.max(debt, Math.min(more, burst * windowMs));
      this.#atMs = nowMs;
      this.#debt = debt;
      this.#overAtMs = nowMs + Math.ceil(debt / limit);
    }
    const excess = debt + (cost - burst) * windowMs;
    return {
      limit: burst,
      remaining: Math.max(0, Math.floor((burst * windowMs - debt) / windowMs)),
      resetAfterMs: Math.ceil(debt / limit),
      retryAfterMs: Math.max(0, Math.ceil(excess / limit)),
    };
  }

  #debtAt({ limit }: Quota, nowMs: number): number {
    return Math.max(0, this.#debt - limit * (nowMs - this.#atMs));
  }
}
