/** How much a peer may cause at once, and how much a second. A token bucket. */

export interface BudgetOptions {
  readonly burst: number;
  readonly perSecond: number;
}

export class Budget {
  readonly #options: BudgetOptions;
  #left: number;
  #filledMs = performance.now();

  constructor(options: BudgetOptions) {
    this.#options = options;
    this.#left = options.burst;
  }

  /** Returns whether it was allowed. */
  take(count: number): boolean {
    if (this.#left < count) this.#fill();
    this.#left -= count;
    return this.#left >= 0;
  }

  /** What the peer has earned beyond its time. */
  add(count: number): void {
    this.#left = Math.min(this.#options.burst, this.#left + count);
  }

  #fill(): void {
    const nowMs = performance.now();
    const { burst, perSecond } = this.#options;
    const earned = ((nowMs - this.#filledMs) / 1_000) * perSecond;
    this.#left = Math.min(burst, this.#left + earned);
    this.#filledMs = nowMs;
  }
}
