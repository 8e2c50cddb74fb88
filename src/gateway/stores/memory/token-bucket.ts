/**
 * Token bucket, kept as a debt (GCRA, ITU-T I.371, annex A). Debt is counted in units x windowMs, and every millisecond
 * repays `limit` of it. These are whole numbers below 2^53, so nothing is rounded.
 */
import { MAX_SETTLED } from '../../core/counting/settlement.ts';
import {
  changesCount,
  type Quota,
  type QuotaState,
  unitsNeeded,
} from '../../core/counting/store.ts';
import type { IndebtedRequest, Meter, MeteredPart, MeteredRequest } from './meter.ts';
import { surplusUnits } from './settled.ts';

export class TokenBucket implements Meter {
  used = false;
  #atMs = 0;
  #debt = 0;
  /** Set by `fits`. */
  #leastDebt = 0;
  expiresMs = Number.NEGATIVE_INFINITY;

  fits({ quota, cost, leastDebt = 0 }: IndebtedRequest, nowMs: number): boolean {
    // If the clock was set back, the debt is kept, as of now.
    this.#atMs = Math.min(this.#atMs, nowMs);
    this.#leastDebt = leastDebt;
    const { windowMs, burst } = quota;
    return this.debtAt(quota, nowMs) + unitsNeeded(cost) * windowMs <= burst * windowMs;
  }

  record(request: MeteredRequest, nowMs: number, admitted: boolean): QuotaState {
    const { quota, cost } = request;
    const { limit, windowMs, burst } = quota;
    let debt = this.debtAt(quota, nowMs);
    if (changesCount(request, admitted)) {
      const more = Math.max(0, debt + cost * windowMs);
      debt = admitted ? more : Math.max(debt, Math.min(more, burst * windowMs));
      this.#atMs = nowMs;
      this.#debt = debt;
      this.expiresMs = nowMs + Math.ceil(debt / limit);
    }
    // More than the burst never fits. The wait is as for one unit more than the burst, so that it is not without end.
    const needed = Math.min(unitsNeeded(cost), burst + 1);
    const excess = debt + (needed - burst) * windowMs;
    return {
      limit: burst,
      remaining: Math.max(0, Math.floor((burst * windowMs - debt) / windowMs)),
      resetAfterMs: Math.ceil(debt / limit),
      retryAfterMs: Math.max(0, Math.ceil(excess / limit)),
    };
  }

  settle({ quota, momentMs, reserved, used }: MeteredPart, nowMs: number): number | undefined {
    const { limit, windowMs } = quota;
    const debt = this.debtAt(quota, nowMs);
    const more = used - reserved;
    let cut = 0;
    if (more > 0) {
      const units = surplusUnits(limit, more, (MAX_SETTLED - debt) / windowMs);
      this.#debt = debt + units * windowMs;
      cut = more - units;
    } else {
      // What has flowed back since the reservation cannot be given back once more.
      const left = reserved * windowMs - limit * Math.max(0, nowMs - momentMs);
      const back = Math.min(-more * windowMs, left, debt);
      if (back <= 0) return undefined;
      this.#debt = debt - back;
    }
    this.#atMs = nowMs;
    this.expiresMs = nowMs + Math.ceil(this.#debt / limit);
    return cut;
  }

  debtAt({ limit }: Quota, nowMs: number): number {
    return Math.max(this.#leastDebt, this.#debt - limit * (nowMs - this.#atMs));
  }
}
