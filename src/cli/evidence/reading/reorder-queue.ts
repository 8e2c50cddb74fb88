/** Entries of one source, in the order of their start. Those that come in order already wait in a plain queue. */
import type { LogEntry } from '../log-entry.ts';

export interface Waiting {
  readonly entry: LogEntry;
  readonly line: number;
}

/** Whether a is first: by its start, then by its line. */
function isBefore(a: Waiting, b: Waiting): boolean {
  const differenceMs = a.entry.startMs - b.entry.startMs;
  return differenceMs === 0 ? a.line < b.line : differenceMs < 0;
}

export class ReorderQueue {
  #ordered: (Waiting | undefined)[] = [];
  #head = 0;
  /** A binary heap: no one is before the one at half its place. */
  readonly #heap: Waiting[] = [];

  add(waiting: Waiting): void {
    const last = this.#ordered.at(-1);
    if (last === undefined || isBefore(last, waiting)) this.#ordered.push(waiting);
    else this.#push(waiting);
  }

  first(): Waiting | undefined {
    const ordered = this.#ordered[this.#head];
    const top = this.#heap[0];
    if (ordered === undefined || top === undefined) return ordered ?? top;
    return isBefore(top, ordered) ? top : ordered;
  }

  /** Removes the first. */
  shift(): void {
    if (this.first() === this.#ordered[this.#head]) this.#shiftOrdered();
    else this.#pop();
  }

  #shiftOrdered(): void {
    this.#ordered[this.#head++] = undefined;
    if (this.#head === this.#ordered.length) {
      this.#ordered = [];
      this.#head = 0;
    } else if (this.#head > 4096 && this.#head * 2 > this.#ordered.length) {
      this.#ordered = this.#ordered.slice(this.#head);
      this.#head = 0;
    }
  }

  #push(waiting: Waiting): void {
    const heap = this.#heap;
    let place = heap.push(waiting) - 1;
    while (place > 0) {
      const parent = (place - 1) >> 1;
      const above = heap[parent] as Waiting;
      if (!isBefore(waiting, above)) break;
      heap[place] = above;
      place = parent;
    }
    heap[place] = waiting;
  }

  #pop(): void {
    const heap = this.#heap;
    const last = heap.pop();
    if (last === undefined || heap.length === 0) return;
    let place = 0;
    for (;;) {
      let child = 2 * place + 1;
      const right = heap[child + 1];
      if (right !== undefined && isBefore(right, heap[child] as Waiting)) child++;
      const below = heap[child];
      if (below === undefined || !isBefore(below, last)) break;
      heap[place] = below;
      place = child;
    }
    heap[place] = last;
  }
}
