/**
 * Tells wrong stamps from right ones by the lines around them. One stamp in the future would make all later lines come
 * too late; one of another decade would leave nothing to see in a plot.
 */
const LEAP_MS = 3_600_000;
const YEAR_MS = 366 * 24 * LEAP_MS;
const NEIGHBOURS = 100;
const FEW = 3;

interface Started {
  readonly startMs: number;
}

export class StartGuard<Line extends Started> {
  readonly #leapMs: number;
  #taken = 0;
  #held: Line[] = [];
  latestMs = Number.NEGATIVE_INFINITY;
  /** Lines that start before an earlier one. */
  outOfOrder = 0;

  constructor(horizonMs: number) {
    this.#leapMs = Math.max(LEAP_MS, horizonMs);
  }

  /** Whether the line with this start is right, as far as the lines before it say. */
  takes(startMs: number): boolean {
    if (this.#held.length > 0 || !this.#isNear(startMs)) return false;
    this.#take(startMs);
    return true;
  }

  /** Holds a line back. Gives those that the lines after them decide. */
  hold(line: Line): readonly { readonly line: Line; readonly isRight: boolean }[] {
    this.#held.push(line);
    return this.#decided(NEIGHBOURS);
  }

  finish() {
    return this.#decided(0);
  }

  #decided(neighbours: number) {
    const decided: { line: Line; isRight: boolean }[] = [];
    let at = 0;
    for (; at < this.#held.length; at++) {
      const line = this.#held[at] as Line;
      const isNear = this.#isNear(line.startMs);
      if (!isNear && this.#held.length - at <= neighbours) break;
      const isRight = isNear || this.#isRight(line, this.#held.slice(at + 1, at + 1 + NEIGHBOURS));
      if (isRight) this.#take(line.startMs);
      decided.push({ line, isRight });
    }
    this.#held = this.#held.slice(at);
    return decided;
  }

  #isNear(startMs: number): boolean {
    return startMs <= this.latestMs + this.#leapMs && startMs >= this.latestMs - YEAR_MS;
  }

  #take(startMs: number): void {
    this.#taken++;
    if (startMs < this.latestMs) this.outOfOrder++;
    else this.latestMs = startMs;
  }

  /** Most lines after it are earlier, and it is farther from them than they are from each other. */
  #isAhead(startMs: number, after: readonly Started[]): boolean {
    const earlier = after
      .map((next) => next.startMs)
      .filter((next) => next < startMs - this.#leapMs)
      .sort((a, b) => a - b);
    if (2 * earlier.length <= after.length) return false;
    // A log may begin with its last lines; later, a leap has all lines before it against it.
    if (this.#taken >= NEIGHBOURS) return true;
    const first = earlier[Math.floor(earlier.length * 0.1)] ?? startMs;
    const last = earlier[Math.floor(earlier.length * 0.9)] ?? startMs;
    return earlier.length >= FEW && startMs - last > last - first;
  }

  #isRight({ startMs }: Started, after: readonly Started[]): boolean {
    if (startMs > this.latestMs && this.#isAhead(startMs, after)) return false;
    const before = Math.min(this.#taken, NEIGHBOURS);
    const farBefore = Math.abs(startMs - this.latestMs) > YEAR_MS ? before : 0;
    const farAfter = after.filter((next) => Math.abs(next.startMs - startMs) > YEAR_MS).length;
    return 2 * (farBefore + farAfter) <= before + after.length + 1;
  }
}
