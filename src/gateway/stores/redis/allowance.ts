/** Bounds how much work other programs can cause: a number of times per second. */
export class Allowance {
  readonly #perSecond: number;
  readonly #now: () => number;
  #left = 0;
  #sinceMs = Number.NEGATIVE_INFINITY;

  /** `now`: milliseconds of a monotonic clock. */
  constructor(perSecond: number, now: () => number = () => performance.now()) {
    this.#perSecond = perSecond;
    this.#now = now;
  }

  /** Returns false if this second's number is used up. */
  take(): boolean {
    const nowMs = this.#now();
    if (nowMs - this.#sinceMs >= 1_000) {
      this.#sinceMs = nowMs;
      this.#left = this.#perSecond;
    }
    if (this.#left === 0) return false;
    this.#left--;
    return true;
  }
}
