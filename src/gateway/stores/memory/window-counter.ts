/**
 * Approximate sliding window. It adds the units of the current window to those of the previous one, weighted by the part
 * of it that lies within the last `windowMs`. Windows are aligned to the epoch. Sums stay below 2^53, so they are exact.
 */
import { MAX_SETTLED } from '../../core/counting/settlement.ts';
import {
  changesCount,
  type Quota,
  type QuotaState,
  unitsNeeded,
} from '../../core/counting/store.ts';
import type { Meter, MeteredPart, MeteredRequest } from './meter.ts';
import { surplusUnits } from './settled.ts';

export class WindowCounter implements Meter {
  used = false;
  readonly #windowMs: number;
  #window = 0;
  #current = 0;
  #previous = 0;

  constructor(windowMs: number) {
    this.#windowMs = windowMs;
  }

  get expiresMs(): number {
    return (this.#window + 2) * this.#windowMs;
  }

  fits({ quota, cost }: MeteredRequest, nowMs: number): boolean {
    // If the clock was set back, the units of the later window count in this one.
    this.#window = Math.min(this.#window, this.#windowOf(nowMs));
    return this.#waitMs(quota, cost, nowMs) === 0;
  }

  record(request: MeteredRequest, nowMs: number, admitted: boolean): QuotaState {
    const { quota, cost } = request;
    const { limit } = quota;
    const windowMs = this.#windowMs;
    if (changesCount(request, admitted)) {
      [this.#current, this.#previous] = this.#countsAt(nowMs);
      this.#window = this.#windowOf(nowMs);
      const more = this.#current + cost;
      if (cost < 0) this.#refund(-cost);
      else this.#current = admitted ? more : Math.max(this.#current, Math.min(more, limit));
    }
    const [current, previous] = this.#countsAt(nowMs);
    const leftMs = this.#leftMs(nowMs);
    const free = (limit - current) * windowMs - previous * leftMs;
    return {
      limit,
      remaining: Math.max(0, Math.floor(free / windowMs)),
      resetAfterMs: current > 0 ? leftMs + windowMs : previous > 0 ? leftMs : 0,
      retryAfterMs: this.#waitMs(quota, cost, nowMs),
    };
  }

  settle({ quota, momentMs, reserved, used }: MeteredPart, nowMs: number): number | undefined {
    let [current, previous] = this.#countsAt(nowMs);
    const window = this.#windowOf(nowMs);
    const momentWindow = Math.min(this.#windowOf(momentMs), window);
    const more = used - reserved;
    let cut = 0;
    if (more > 0) {
      const units = surplusUnits(quota.limit, more, MAX_SETTLED / this.#windowMs - current);
      current += units;
      cut = more - units;
    } else if (momentWindow === window && current > 0) {
      current = Math.max(0, current + more);
    } else if (momentWindow === window - 1 && previous > 0) {
      previous = Math.max(0, previous + more);
    } else {
      return undefined;
    }
    [this.#window, this.#current, this.#previous] = [window, current, previous];
    return cut;
  }

  /** Milliseconds until a request of this cost fits, either in this window or in the next one. */
  #waitMs({ limit }: Quota, cost: number, nowMs: number): number {
    if (cost < 0) return 0;
    const windowMs = this.#windowMs;
    const [current, previous] = this.#countsAt(nowMs);
    const leftMs = this.#leftMs(nowMs);
    const needed = unitsNeeded(cost);
    const free = limit - current - needed;
    if (previous * leftMs <= free * windowMs) return 0;
    const lateEnoughMs = free > 0 ? Math.floor((free * windowMs) / previous) : 0;
    if (lateEnoughMs > 0) return leftMs - lateEnoughMs;
    if (current === 0) return leftMs;
    const most = Math.max(0, limit - needed);
    return leftMs + Math.max(0, windowMs - Math.floor((most * windowMs) / current));
  }

  /** Takes the units from the current window first, then from the previous one. */
  #refund(units: number): void {
    const ofPrevious = Math.max(0, units - this.#current);
    this.#current = Math.max(0, this.#current - units);
    this.#previous = Math.max(0, this.#previous - ofPrevious);
  }

  #countsAt(nowMs: number): [current: number, previous: number] {
    const passed = this.#windowOf(nowMs) - this.#window;
    if (passed <= 0) return [this.#current, this.#previous];
    return [0, passed === 1 ? this.#current : 0];
  }

  #windowOf(nowMs: number): number {
    return Math.floor(nowMs / this.#windowMs);
  }

  #leftMs(nowMs: number): number {
    return this.#windowMs - (nowMs % this.#windowMs);
  }
}
