/** A model of one counter in Redis: what each take and each settlement writes there. It shares no code with the gateway. */
import type { Kind } from './policies.ts';

export interface Settled {
  readonly state: 'settled' | 'gone' | 'reset';
  /** Units of a surplus that were left out. */
  readonly cut: number;
  /** What is written. Undefined if nothing is; empty if the key is deleted. */
  readonly written: string | undefined;
}

export interface Reservation {
  readonly momentMs: number;
  readonly reserved: number;
  readonly used: number;
  /** Of the file in force. */
  readonly limit: number;
}

export class Ledger {
  readonly #kind: Kind;
  readonly #windowMs: number;
  /** Of counters and fixed windows, the units by window. */
  readonly #windows = new Map<number, number>();
  #moments: number[] = [];
  #debt = { atMs: 0, units: 0 };
  #resetMs = Number.NEGATIVE_INFINITY;

  constructor(kind: Kind, windowMs: number) {
    this.#kind = kind;
    this.#windowMs = windowMs;
  }

  /** Units x window in milliseconds: whole numbers. */
  counted(limit: number, nowMs: number): number {
    const w = this.#windowMs;
    if (this.#kind === 'log') return w * this.#moments.filter((each) => each > nowMs - w).length;
    if (this.#kind === 'bucket') return this.debtAt(limit, nowMs);
    const window = Math.floor(nowMs / w);
    const current = w * this.#unitsIn(window);
    if (this.#kind === 'fixed') return current;
    return current + this.#unitsIn(window - 1) * (w - (nowMs % w));
  }

  /** What counts of a bucket, in units x window in milliseconds. */
  debtAt(limit: number, nowMs: number): number {
    return Math.max(0, this.#debt.units - limit * (nowMs - this.#debt.atMs));
  }

  /** What Redis has after a take; without `does`, what it would have. `inherited`: the debt of the client's former name. */
  take(units: number, { nowMs, limit, inherited = 0, does = true }: TakeOptions): string {
    const w = this.#windowMs;
    if (this.#kind === 'log') {
      if (does) this.#moments.push(nowMs);
      return String(nowMs);
    }
    if (this.#kind === 'bucket') {
      const debt = Math.max(this.debtAt(limit, nowMs), inherited) + units * w;
      if (does) this.#debt = { atMs: nowMs, units: debt };
      return `${nowMs} ${debt}`;
    }
    const window = Math.floor(nowMs / w);
    const counted = this.#unitsIn(window) + units;
    if (does) this.#windows.set(window, counted);
    return this.#window(window, counted);
  }

  reset(nowMs: number): void {
    this.#windows.clear();
    this.#moments = [];
    this.#debt = { atMs: 0, units: 0 };
    this.#resetMs = nowMs;
  }

  settle({ momentMs, reserved, used, limit }: Reservation, nowMs: number): Settled {
    const unchanged = { cut: 0, written: undefined };
    if (momentMs <= this.#resetMs) return { state: 'reset', ...unchanged };
    if (used === reserved) return { state: 'settled', ...unchanged };
    if (used > reserved) {
      const units = Math.min(used - reserved, limit);
      const written = this.take(units, { nowMs, limit });
      return { state: 'settled', cut: used - reserved - units, written };
    }
    const written = this.#giveBack({ momentMs, reserved, used, limit }, nowMs);
    return { state: written === undefined ? 'gone' : 'settled', cut: 0, written };
  }

  #giveBack({ momentMs, reserved, used, limit }: Reservation, nowMs: number): string | undefined {
    const w = this.#windowMs;
    if (this.#kind === 'log') {
      const place = this.#moments.indexOf(momentMs);
      if (place === -1 || momentMs <= nowMs - w) return undefined;
      this.#moments.splice(place, 1);
      return `-${momentMs}`;
    }
    if (this.#kind === 'bucket') {
      const debt = this.debtAt(limit, nowMs);
      const left = reserved * w - limit * Math.max(0, nowMs - momentMs);
      const back = Math.min((reserved - used) * w, left, debt);
      if (back <= 0) return undefined;
      this.#debt = { atMs: nowMs, units: debt - back };
      return debt === back ? '' : `${nowMs} ${debt - back}`;
    }
    const [window, now] = [Math.floor(momentMs / w), Math.floor(nowMs / w)];
    const oldest = this.#kind === 'fixed' ? now : now - 1;
    if (window < oldest || this.#unitsIn(window) === 0) return undefined;
    this.#windows.set(window, Math.max(0, this.#unitsIn(window) - (reserved - used)));
    return this.#window(now, this.#unitsIn(now));
  }

  #unitsIn(window: number): number {
    return this.#windows.get(window) ?? 0;
  }

  #window(window: number, units: number): string {
    if (this.#kind === 'fixed') return units === 0 ? '' : `${window * this.#windowMs} ${units}`;
    const previous = this.#unitsIn(window - 1);
    return units + previous === 0 ? '' : `${window} ${units} ${previous}`;
  }
}

interface TakeOptions {
  readonly nowMs: number;
  readonly limit: number;
  readonly inherited?: number;
  readonly does?: boolean;
}
