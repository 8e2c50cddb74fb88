/** Pseudo-random numbers from a seed: the same on every machine (mulberry32). */
export class Random {
  #state: number;

  constructor(seed: number) {
    this.#state = seed | 0;
  }

  /** From 0 to 1, without 1. */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  }

  /** A whole number from 0 to `end`, without `end`. */
  below(end: number): number {
    return Math.floor(end * this.next());
  }

  oneOf<T>(values: readonly T[]): T {
    return values[this.below(values.length)] as T;
  }

  /** How many times something of this chance happens in a row. */
  geometric(chance: number): number {
    return Math.floor(Math.log(1 - this.next()) / Math.log(chance));
  }

  exponential(mean: number): number {
    return -mean * Math.log(1 - this.next());
  }

  /** The median is e to the power of `mu`. */
  lognormal(mu: number, sigma: number): number {
    const radius = Math.sqrt(-2 * Math.log(1 - this.next()));
    return Math.exp(mu + sigma * radius * Math.cos(2 * Math.PI * this.next()));
  }
}
