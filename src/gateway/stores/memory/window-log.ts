/**
 * Exact sliding window: the times of the admitted requests in a ring buffer, oldest first. A request counts while it is
 * younger than the window.
 */
import { changesCount, type QuotaState, unitsNeeded } from '../../core/counting/store.ts';
import type { Meter, MeteredPart, MeteredRequest } from './meter.ts';

const FIRST_CAPACITY = 4;
const SMALL = 64;

type Ring = number[] | Float64Array;

/**
 * For a few numbers, a typed array takes 200 bytes more than a plain one, and one more access to memory. Both count if
 * there are a million logs. V8 keeps plain arrays of fractions as 64-bit numbers, too.
 */
function newRing(capacity: number): Ring {
  return capacity > SMALL ? new Float64Array(capacity) : new Array<number>(capacity).fill(0.5);
}

export class WindowLog implements Meter {
  used = false;
  #stampsMs = newRing(FIRST_CAPACITY);
  /** Units up to and including each request. Undefined while every request cost one unit: then places count units. */
  #totals: Ring | undefined;
  #forgotten = 0;
  #head = 0;
  #length = 0;
  /** So many of the oldest requests cost one unit, and no request before them that was kept cost more. */
  #plain = 0;
  /** The place of the first request that counts. Set by `fits`. */
  #first = 0;
  readonly #windowMs: number;

  constructor(windowMs: number) {
    this.#windowMs = windowMs;
  }

  get expiresMs(): number {
    return this.#newestMs + this.#windowMs;
  }

  fits({ quota: { limit }, cost }: MeteredRequest, nowMs: number): boolean {
    if (this.#newestMs > nowMs) this.#collapse(nowMs);
    this.#first = this.#firstAfter(nowMs - this.#windowMs);
    return this.#unitsFrom(this.#first) + unitsNeeded(cost) <= limit;
  }

  record(request: MeteredRequest, nowMs: number, admitted: boolean): QuotaState {
    const { quota, cost } = request;
    const { limit } = quota;
    let live = this.#unitsFrom(this.#first);
    if (changesCount(request, admitted)) {
      this.#forget(this.#first);
      this.#first = 0;
      if (cost < 0) this.#refund(-cost);
      else if (admitted) this.#append(cost, nowMs);
      else this.#fill({ units: cost, most: Math.max(limit, live) }, nowMs);
      live = this.#unitsFrom(0);
    }
    const needed = unitsNeeded(cost);
    const excess = live + needed - limit;
    return {
      limit,
      remaining: Math.max(0, limit - live),
      resetAfterMs: live === 0 ? 0 : this.#newestMs + this.#windowMs - nowMs,
      retryAfterMs: excess <= 0 ? 0 : this.#waitMs(needed > limit ? live : excess, nowMs),
    };
  }

  /** Drops one request of that millisecond, if it cost one unit, as those before it that are kept. */
  settle({ momentMs, reserved, used }: MeteredPart): number | undefined {
    if (used > reserved) return used - reserved;
    const place = this.#firstPlace(this.#first, (each) => this.#stampAt(each) >= momentMs);
    const isFound = place < this.#plain && this.#stampAt(place) === momentMs;
    if (reserved !== 1 || !isFound) return undefined;
    for (let next = place + 1; next < this.#length; next++) this.#shift(next);
    this.#length--;
    this.#plain--;
    return 0;
  }

  /** Moves a request one place forward, after one unit before it was dropped. */
  #shift(place: number): void {
    const size = this.#stampsMs.length;
    const to = (this.#head + place - 1) % size;
    const total = this.#totalAt(place);
    this.#stampsMs[to] = this.#stampAt(place);
    if (this.#totals !== undefined) this.#totals[to] = total - 1;
  }

  #waitMs(units: number, nowMs: number): number {
    return units === 0 ? this.#windowMs : this.#stampOfUnit(units) + this.#windowMs - nowMs;
  }

  /** Drops the newest units. May drop a part of a request's units. */
  #refund(units: number): void {
    const wanted = Math.max(this.#forgotten, this.#totalAt(this.#length - 1) - units);
    this.#length = this.#firstPlace(0, (place) => this.#totalAt(place) >= wanted);
    if (wanted !== this.#forgotten) {
      const last = (this.#head + this.#length) % this.#stampsMs.length;
      if (this.#totals !== undefined) this.#totals[last] = wanted;
      this.#length++;
    }
    this.#plain = Math.min(this.#plain, this.#length);
  }

  /** Adds units, then drops the oldest until `most` are left. May drop a part of a request's units. */
  #fill({ units, most }: { units: number; most: number }, nowMs: number): void {
    this.#append(Math.min(units, Math.max(1, most)), nowMs);
    const forgotten = this.#totalAt(this.#length - 1) - most;
    if (forgotten <= this.#forgotten) return;
    this.#forget(this.#firstPlace(0, (place) => this.#totalAt(place) > forgotten));
    this.#forgotten = forgotten;
  }

  get #newestMs(): number {
    return this.#length === 0 ? Number.NEGATIVE_INFINITY : this.#stampAt(this.#length - 1);
  }

  #stampAt(place: number): number {
    return this.#stampsMs[(this.#head + place) % this.#stampsMs.length] ?? Number.NaN;
  }

  #totalAt(place: number): number {
    if (place < 0) return this.#forgotten;
    const total = this.#totals?.[(this.#head + place) % this.#stampsMs.length];
    return total ?? this.#forgotten + place + 1;
  }

  #unitsFrom(place: number): number {
    return this.#totalAt(this.#length - 1) - this.#totalAt(place - 1);
  }

  #firstAfter(stampMs: number): number {
    if (this.#length === 0 || this.#stampAt(0) > stampMs) return 0;
    return this.#firstPlace(0, (place) => this.#stampAt(place) > stampMs);
  }

  #stampOfUnit(unit: number): number {
    const wanted = this.#totalAt(this.#first - 1) + unit;
    const found = this.#firstPlace(this.#first, (place) => this.#totalAt(place) >= wanted);
    return this.#stampAt(Math.min(found, this.#length - 1));
  }

  /** The first place that `holds`. A binary search, because a log may hold a million requests. */
  #firstPlace(from: number, holds: (place: number) => boolean): number {
    let low = from;
    let high = this.#length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (holds(middle)) high = middle;
      else low = middle + 1;
    }
    return low;
  }

  /** The clock was set back: all units in the future become one request of now. */
  #collapse(nowMs: number): void {
    const ahead = this.#firstAfter(nowMs);
    const units = this.#unitsFrom(ahead);
    this.#length = ahead;
    this.#plain = Math.min(this.#plain, ahead);
    this.#append(units, nowMs);
  }

  #forget(requests: number): void {
    this.#forgotten = this.#totalAt(requests - 1);
    this.#head = (this.#head + requests) % this.#stampsMs.length;
    this.#length -= requests;
    this.#plain = Math.max(0, this.#plain - requests);
  }

  #append(units: number, nowMs: number): void {
    if (units === 1 && this.#plain === this.#length) this.#plain++;
    if (this.#length === this.#stampsMs.length) this.#grow();
    const capacity = this.#stampsMs.length;
    if (units !== 1) this.#totals ??= this.#copied(capacity, (place) => this.#totalAt(place));
    const place = (this.#head + this.#length) % capacity;
    if (this.#totals !== undefined) this.#totals[place] = this.#totalAt(this.#length - 1) + units;
    this.#stampsMs[place] = nowMs;
    this.#length++;
  }

  #grow(): void {
    const capacity = 2 * this.#stampsMs.length;
    const totals = this.#totals && this.#copied(capacity, (place) => this.#totalAt(place));
    this.#stampsMs = this.#copied(capacity, (place) => this.#stampAt(place));
    this.#totals = totals;
  }

  /** A ring with the same head, and a value at the index of each place. */
  #copied(capacity: number, valueAt: (place: number) => number): Ring {
    const copy = newRing(capacity);
    for (let place = 0; place < this.#length; place++) {
      copy[(this.#head + place) % copy.length] = valueAt(place);
    }
    return copy;
  }
}
