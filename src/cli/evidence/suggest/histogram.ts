/** Exact distribution of whole numbers. Peaks are small, so few numbers occur often. */
export class Histogram {
  readonly #counts = new Map<number, number>();
  #total = 0;

  get total(): number {
    return this.#total;
  }

  add(value: number): void {
    this.#counts.set(value, (this.#counts.get(value) ?? 0) + 1);
    this.#total++;
  }

  /** The different values, in ascending order. */
  values(): number[] {
    return [...this.#counts.keys()].sort((a, b) => a - b);
  }

  /** The value at a rank; 1 is the smallest, `total` the greatest. 0 if there are no values. */
  atRank(rank: number): number {
    let seen = 0;
    let value = 0;
    for (value of this.values()) {
      seen += this.#counts.get(value) ?? 0;
      if (seen >= rank) return value;
    }
    return value;
  }

  quantile(q: number): number {
    return this.atRank(Math.max(1, Math.ceil(q * this.#total)));
  }

  get max(): number {
    return this.atRank(this.#total);
  }
}
