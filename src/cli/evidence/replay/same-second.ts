/**
 * Stamps of whole seconds do not say when in a second a request came. Entries of one second are spread evenly over it,
 * in the order of the log.
 */
import type { LogEntry } from '../formats/log-format.ts';

export type VisitAt = (entry: LogEntry, atMs: number) => void;

export class SameSecond {
  readonly #precisionMs: number;
  readonly #visit: VisitAt;
  #waiting: LogEntry[] = [];

  constructor(precisionMs: number, visit: VisitAt) {
    this.#precisionMs = precisionMs;
    this.#visit = visit;
  }

  add(entry: LogEntry): void {
    if (this.#waiting[0]?.startMs !== entry.startMs) this.flush();
    this.#waiting.push(entry);
  }

  flush(): void {
    const all = this.#waiting;
    this.#waiting = [];
    for (const [i, entry] of all.entries()) {
      this.#visit(entry, entry.startMs + Math.floor((i * this.#precisionMs) / all.length));
    }
  }
}
