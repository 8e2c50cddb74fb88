/**
 * Entries that wait until no earlier one can come, in the order of their start. If they are so dense that they would fill
 * the memory, the earliest are visited sooner.
 */
import { getOrAdd } from '../maps.ts';

const ENTRY_BYTES = 500;
/** 100,000 ordinary lines. */
const MAX_BYTES = 67_108_864;
const SECOND_MS = 1_000;

interface Waiting<Kept> {
  /** Undefined for an entry that is not visited. */
  readonly kept: Kept | undefined;
  readonly startMs: number;
  readonly source: number;
}

interface Second<Kept> {
  bytes: number;
  latestMs: number;
  waiting: Waiting<Kept>[];
}

export class WaitingEntries<Kept> {
  readonly #maxBytes: number;
  readonly #seconds = new Map<number, Second<Kept>>();
  #bytes = 0;

  constructor(maxBytes = MAX_BYTES) {
    this.#maxBytes = maxBytes;
  }

  /**
   * Entries of a source are added in the order of their lines. One of which nothing is kept takes memory, too, so that
   * all threads of a replay visit at the same moments.
   */
  add(waiting: Waiting<Kept>, lineLength: number): void {
    const { kept, startMs } = waiting;
    const bytes = lineLength + ENTRY_BYTES;
    const key = Math.floor(startMs / SECOND_MS);
    this.#bytes += bytes;
    const second = getOrAdd(this.#seconds, key, () => ({
      ...{ bytes: 0, latestMs: Number.NEGATIVE_INFINITY, waiting: [] },
    }));
    second.bytes += bytes;
    if (startMs > second.latestMs) second.latestMs = startMs;
    if (kept !== undefined) second.waiting.push(waiting);
  }

  /** Visits entries that start until `readyMs`, or later if too many are waiting. Returns that moment. */
  visitUntil(readyMs: number, visit: (kept: Kept) => void): number {
    const untilMs = this.#bytes > this.#maxBytes ? this.#untilFits(readyMs) : readyMs;
    const keys = [...this.#seconds.keys()].filter((key) => key * SECOND_MS <= untilMs);
    for (const key of keys.sort((a, b) => a - b)) {
      const second = this.#seconds.get(key) as Second<Kept>;
      let ready = second.waiting;
      if (second.latestMs <= untilMs) {
        this.#seconds.delete(key);
        this.#bytes -= second.bytes;
      } else {
        ready = second.waiting.filter((each) => each.startMs <= untilMs);
        second.waiting = second.waiting.filter((each) => each.startMs > untilMs);
      }
      // The sort is stable, so equal starts of one source keep the order of their lines.
      ready.sort((a, b) => a.startMs - b.startMs || a.source - b.source);
      for (const { kept } of ready) if (kept !== undefined) visit(kept);
    }
    return untilMs;
  }

  /** The moment until which entries must be visited so that the others fit into the memory. */
  #untilFits(readyMs: number): number {
    let bytes = this.#bytes;
    let untilMs = readyMs;
    for (const [, second] of [...this.#seconds].sort(([a], [b]) => a - b)) {
      if (bytes <= this.#maxBytes && second.latestMs > readyMs) break;
      bytes -= second.bytes;
      untilMs = Math.max(untilMs, second.latestMs);
    }
    return untilMs;
  }
}
