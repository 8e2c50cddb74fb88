/** Sources by the start of their first waiting entry. A heap, because hundreds of rotated files may be read together. */
import type { ReorderQueue, Waiting } from './reorder-queue.ts';

export class SourceOrder {
  readonly #queues: readonly ReorderQueue[];
  /** Sources with entries; no one is before the one at half its place. */
  readonly #heap: number[] = [];
  /** The place of each source in the heap, or -1. */
  readonly #places: Int32Array;

  constructor(queues: readonly ReorderQueue[]) {
    this.#queues = queues;
    this.#places = new Int32Array(queues.length).fill(-1);
  }

  /** The source whose first entry starts first; of equal ones, the one with the least number. */
  first(): number | undefined {
    return this.#heap[0];
  }

  /** Takes note that the first entry of a source is another one now. */
  changed(source: number): void {
    const place = this.#places[source] as number;
    if (this.#queues[source]?.first() === undefined) {
      if (place >= 0) this.#remove(place);
    } else if (place < 0) this.#rise(this.#heap.push(source) - 1, source);
    else this.#settle(place, source);
  }

  #remove(place: number): void {
    this.#places[this.#heap[place] as number] = -1;
    const last = this.#heap.pop();
    if (last !== undefined && place < this.#heap.length) this.#settle(place, last);
  }

  #settle(place: number, source: number): void {
    this.#sink(place, source);
    this.#rise(this.#places[source] as number, source);
  }

  #rise(from: number, source: number): void {
    let place = from;
    while (place > 0) {
      const parent = (place - 1) >> 1;
      const above = this.#heap[parent] as number;
      if (!this.#isBefore(source, above)) break;
      this.#put(place, above);
      place = parent;
    }
    this.#put(place, source);
  }

  #sink(from: number, source: number): void {
    let place = from;
    for (;;) {
      let child = 2 * place + 1;
      const right = this.#heap[child + 1];
      if (right !== undefined && this.#isBefore(right, this.#heap[child] as number)) child++;
      const below = this.#heap[child];
      if (below === undefined || !this.#isBefore(below, source)) break;
      this.#put(place, below);
      place = child;
    }
    this.#put(place, source);
  }

  #put(place: number, source: number): void {
    this.#heap[place] = source;
    this.#places[source] = place;
  }

  #isBefore(a: number, b: number): boolean {
    const [first, second] = [this.#firstOf(a), this.#firstOf(b)];
    const differenceMs = first.entry.startMs - second.entry.startMs;
    return differenceMs === 0 ? a < b : differenceMs < 0;
  }

  #firstOf(source: number): Waiting {
    return this.#queues[source]?.first() as Waiting;
  }
}
