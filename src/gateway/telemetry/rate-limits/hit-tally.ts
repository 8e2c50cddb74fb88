/** Counts hits by limit and outcome. Looking up a label for each call would cost more than counting. */
export class HitTally {
  readonly #byLimit = new Map<string, Map<string, number>>();

  add(limit: string, outcome: string, hits: number): void {
    let counts = this.#byLimit.get(limit);
    if (counts === undefined) {
      counts = new Map();
      this.#byLimit.set(limit, counts);
    }
    counts.set(outcome, (counts.get(outcome) ?? 0) + hits);
  }

  *counts(): Generator<[{ limit: string; outcome: string }, number]> {
    for (const [limit, counts] of this.#byLimit) {
      for (const [outcome, hits] of counts) yield [{ limit, outcome }, hits];
    }
  }
}
