/**
 * Fixed windows, one after the other. A count begins at zero with each window, so in the worst case, two bursts around the
 * end of a window, twice the limit is admitted within a moment. Memory is constant.
 *
 * Rejected requests count in full, also beyond the limit: the window ends in any case, so they lengthen no wait.
 */
import { fixedWindowAt, type Window } from '../../core/counting/calendar.ts';
import { changesCount, MAX_FIXED_UNITS, type QuotaState } from '../../core/counting/store.ts';
import type { Meter, MeteredPart, MeteredRequest } from './meter.ts';
import { surplusUnits } from './settled.ts';

export class FixedWindow implements Meter {
  used = false;
  #startMs = 0;
  #endMs = 0;
  #count = 0;

  get expiresMs(): number {
    return this.#endMs;
  }

  fits(request: MeteredRequest, nowMs: number): boolean {
    const window = fixedWindowAt(request.quota, nowMs);
    // If the clock was set back, the units of the later window count in this one.
    if (window.startMs < this.#startMs) this.#enter(window);
    return fits(request, this.#countIn(window));
  }

  record(request: MeteredRequest, nowMs: number, admitted: boolean): QuotaState {
    const { quota, cost } = request;
    const window = fixedWindowAt(quota, nowMs);
    if (changesCount(request, admitted)) {
      const count = Math.min(this.#countIn(window) + cost, MAX_FIXED_UNITS);
      this.#count = Math.max(0, count);
      this.#enter(window);
    }
    const count = this.#countIn(window);
    const leftMs = window.endMs - nowMs;
    return {
      limit: quota.limit,
      remaining: Math.max(0, quota.limit - count),
      resetAfterMs: count === 0 ? 0 : leftMs,
      retryAfterMs: fits(request, count) ? 0 : leftMs,
    };
  }

  settle({ quota, momentMs, reserved, used }: MeteredPart, nowMs: number): number | undefined {
    const window = fixedWindowAt(quota, nowMs);
    const count = this.#countIn(window);
    const more = used - reserved;
    if (more <= 0 && (momentMs < window.startMs || count === 0)) return undefined;
    const units = more > 0 ? surplusUnits(quota.limit, more, MAX_FIXED_UNITS - count) : more;
    this.#count = Math.max(0, count + units);
    this.#enter(window);
    return Math.max(0, more - units);
  }

  #enter({ startMs, endMs }: Window): void {
    this.#startMs = startMs;
    this.#endMs = endMs;
  }

  #countIn({ startMs }: Window): number {
    return this.#startMs === startMs ? this.#count : 0;
  }
}

function fits({ quota: { limit }, cost }: MeteredRequest, count: number): boolean {
  return cost < 0 || count + cost <= limit;
}
