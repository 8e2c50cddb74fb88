/** Counts by name, read at each scrape. Looking up a label of a metric for each request costs ten times as much. */
export class Tally {
  readonly #counts = new Map<string, number>();

  add(name: string): void {
    this.#counts.set(name, (this.#counts.get(name) ?? 0) + 1);
  }

  counts(): IterableIterator<[string, number]> {
    return this.#counts.entries();
  }
}
