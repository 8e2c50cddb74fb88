/**
 * The exact sliding window of one key: the milliseconds at which its units were taken, oldest first, in a ring buffer.
 * A unit counts while it is younger than the window.
 */
const FIRST_CAPACITY = 4;

export class WindowLog {
  #stamps = new Float64Array(FIRST_CAPACITY);
  #head = 0;
  #length = 0;

  /** Units on record, the oldest of which may be over. */
  get length(): number {
    return this.#length;
  }

  get newestMs(): number {
    return this.#length === 0 ? Number.NEGATIVE_INFINITY : this.stampAt(this.#length - 1);
  }

  /** When the unit at this place, counted from the oldest, was taken. */
  stampAt(index: number): number {
    return this.#stamps[(this.#head + index) % this.#stamps.length] ?? Number.NaN;
  }

  /** The place of the first unit that is younger than `cutoffMs`: a binary search, a log may hold a million. */
  firstAfter(cutoffMs: number): number {
    if (this.#length === 0 || this.stampAt(0) > cutoffMs) return 0;
    let low = 0;
    let high = this.#length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.stampAt(middle) <= cutoffMs) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  forget(oldest: number): void {
    this.#head = (this.#head + oldest) % this.#stamps.length;
    this.#length -= oldest;
  }

  append(stampMs: number, units: number): void {
    this.#reserve(this.#length + units);
    for (let i = 0; i < units; i++) {
      this.#stamps[(this.#head + this.#length++) % this.#stamps.length] = stampMs;
    }
  }

  #reserve(units: number): void {
    if (units <= this.#stamps.length) return;
    let capacity = this.#stamps.length;
    while (capacity < units) capacity *= 2;
    const grown = new Float64Array(capacity);
    for (let i = 0; i < this.#length; i++) grown[i] = this.stampAt(i);
    this.#stamps = grown;
    this.#head = 0;
  }
}
