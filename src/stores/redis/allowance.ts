/** How often others may make this process work: so many times in a second. */
export class Allowance {
  readonly #perSecond: number;
  readonly #now: () => number;
  #left = 0;
  #sinceMs = Number.NEGATIVE_INFINITY;

  /** `now`: milliseconds of a clock that is never set. */
  constructor(perSecond: number, now: () => number = () => performance.now()) {
    this.#perSecond = perSecond;
    this.#now = now;
  }

  /** False when this second is used up. */
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
