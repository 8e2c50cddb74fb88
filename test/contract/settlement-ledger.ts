/** A plain model of counters that are settled: it keeps every reservation, and adds up what counts. Its clock never goes back. */
import type { Quota } from '../../src/gateway/core/counting/store.ts';

export interface Reservation {
  readonly quota: Quota;
  readonly momentMs: number;
  readonly units: number;
}

export class Ledger {
  /** Of counters and fixed windows, the units by window. */
  readonly #windows = new Map<number, number>();
  /** Of a log, the moments of its requests. */
  #moments: number[] = [];
  /** Of a bucket, in units x windowMs. */
  #debt = { atMs: 0, units: 0 };
  readonly #quota: Quota;
  #resetMs = Number.NEGATIVE_INFINITY;

  constructor(quota: Quota) {
    this.#quota = quota;
  }

  remaining(nowMs: number): number {
    const { limit, windowMs } = this.#quota;
    return Math.max(0, Math.floor((limit * windowMs - this.#counted(nowMs)) / windowMs));
  }

  take(units: number, nowMs: number): void {
    const { algorithm } = this.#quota;
    if (algorithm === 'sliding-window-log') {
      for (let i = 0; i < units; i++) this.#moments.push(nowMs);
    } else if (algorithm === 'token-bucket') {
      this.#debt = { atMs: nowMs, units: this.#debtAt(nowMs) + units * this.#quota.windowMs };
    } else {
      this.#addTo(this.#windowOf(nowMs), units);
    }
  }

  reset(nowMs: number): void {
    this.#windows.clear();
    this.#moments = [];
    this.#debt = { atMs: 0, units: 0 };
    this.#resetMs = nowMs;
  }

  settle({ momentMs, units }: Reservation, used: number, nowMs: number) {
    if (momentMs <= this.#resetMs) return { state: 'reset', cut: 0 };
    if (used === units) return { state: 'settled', cut: 0 };
    if (used > units) {
      const isLog = this.#quota.algorithm === 'sliding-window-log';
      const counted = isLog ? 0 : Math.min(used - units, this.#quota.limit);
      this.take(counted, nowMs);
      return { state: 'settled', cut: used - units - counted };
    }
    return { state: this.#giveBack({ momentMs, units }, used, nowMs) ? 'settled' : 'gone', cut: 0 };
  }

  #giveBack(
    { momentMs, units }: Pick<Reservation, 'momentMs' | 'units'>,
    used: number,
    nowMs: number,
  ): boolean {
    const { algorithm, limit, windowMs } = this.#quota;
    if (algorithm === 'sliding-window-log') {
      const place = this.#moments.indexOf(momentMs);
      if (place === -1 || momentMs <= nowMs - windowMs) return false;
      this.#moments.splice(place, 1);
      return true;
    }
    if (algorithm === 'token-bucket') {
      const debt = this.#debtAt(nowMs);
      const notFlowedBack = units * windowMs - limit * (nowMs - momentMs);
      const back = Math.min((units - used) * windowMs, notFlowedBack, debt);
      if (back <= 0) return false;
      this.#debt = { atMs: nowMs, units: debt - back };
      return true;
    }
    const window = this.#windowOf(momentMs);
    const oldest = this.#windowOf(nowMs) - (algorithm === 'fixed-window' ? 0 : 1);
    if (window < oldest || (this.#windows.get(window) ?? 0) === 0) return false;
    this.#addTo(window, used - units);
    return true;
  }

  /** In units x windowMs, which are whole. */
  #counted(nowMs: number): number {
    const { algorithm, windowMs } = this.#quota;
    if (algorithm === 'sliding-window-log')
      return windowMs * this.#moments.filter((each) => each > nowMs - windowMs).length;
    if (algorithm === 'token-bucket') return this.#debtAt(nowMs);
    const window = this.#windowOf(nowMs);
    const current = this.#windows.get(window) ?? 0;
    if (algorithm === 'fixed-window') return current * windowMs;
    const previous = this.#windows.get(window - 1) ?? 0;
    return current * windowMs + previous * (windowMs - (nowMs % windowMs));
  }

  #debtAt(nowMs: number): number {
    return Math.max(0, this.#debt.units - this.#quota.limit * (nowMs - this.#debt.atMs));
  }

  #windowOf(ms: number): number {
    return Math.floor(ms / this.#quota.windowMs);
  }

  #addTo(window: number, units: number): void {
    this.#windows.set(window, Math.max(0, (this.#windows.get(window) ?? 0) + units));
  }
}
