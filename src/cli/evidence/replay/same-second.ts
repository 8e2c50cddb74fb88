/**
 * Stamps of whole seconds do not say when in a second a request came. Entries of one second are spread evenly over it,
 * in the order of their start.
 */
/** `atOnceMs`: the time of all entries of the second, if they came together. */
type Visit<Entry> = (entry: Entry, atMs: number, atOnceMs: number) => void;

export class SameSecond<Entry extends { readonly startMs: number }> {
  readonly #precisionMs: number;
  readonly #visit: Visit<Entry>;
  #startMs = Number.NaN;
  #waiting: Entry[] = [];

  constructor(precisionMs: number, visit: Visit<Entry>) {
    this.#precisionMs = precisionMs;
    this.#visit = visit;
  }

  /** The start of an entry may have milliseconds even so: the end, in whole seconds, less an exact duration. */
  add(entry: Entry): void {
    const startMs = Math.floor(entry.startMs / this.#precisionMs) * this.#precisionMs;
    if (startMs !== this.#startMs) this.flush();
    this.#startMs = startMs;
    this.#waiting.push(entry);
  }

  flush(): void {
    const all = this.#waiting;
    this.#waiting = [];
    for (const [i, entry] of all.entries()) {
      const offsetMs = Math.floor((i * this.#precisionMs) / all.length);
      this.#visit(entry, this.#startMs + offsetMs, this.#startMs);
    }
  }
}
