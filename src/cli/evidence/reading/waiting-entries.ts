/**
 * Entries that wait until no earlier one can come, in the order of their start. If they are so dense that they would fill
 * the memory, the earliest are visited sooner.
 */
import type { LogEntry } from '../formats/log-format.ts';
import { getOrAdd } from '../maps.ts';

const ENTRY_BYTES = 500;
/** 100,000 ordinary lines. */
const MAX_BYTES = 67_108_864;
const SECOND_MS = 1_000;

interface Waiting {
  readonly entry: LogEntry;
  readonly source: number;
}

const newSecond = () => ({
  bytes: 0,
  latestMs: Number.NEGATIVE_INFINITY,
  waiting: [] as Waiting[],
});
type Second = ReturnType<typeof newSecond>;

export class WaitingEntries {
  readonly #maxBytes: number;
  readonly #seconds = new Map<number, Second>();
  #bytes = 0;

  constructor(maxBytes = MAX_BYTES) {
    this.#maxBytes = maxBytes;
  }

  /**
   * Entries of a source are added in the order of their lines. One that is not wanted takes memory, too, so that all
   * threads of a replay visit at the same moments.
   */
  add(waiting: Waiting, lineLength: number, isWanted: boolean): void {
    const { startMs } = waiting.entry;
    const bytes = lineLength + ENTRY_BYTES;
    const key = Math.floor(startMs / SECOND_MS);
    this.#bytes += bytes;
    const second = getOrAdd(this.#seconds, key, newSecond);
    second.bytes += bytes;
    if (startMs > second.latestMs) second.latestMs = startMs;
    if (isWanted) second.waiting.push(waiting);
  }

  /** Visits entries that start until `readyMs`, or later if too many are waiting. Returns that moment. */
  visitUntil(readyMs: number, visit: (entry: LogEntry) => void): number {
    const untilMs = this.#bytes > this.#maxBytes ? this.#untilFits(readyMs) : readyMs;
    const keys = [...this.#seconds.keys()].filter((key) => key * SECOND_MS <= untilMs);
    for (const key of keys.sort((a, b) => a - b)) {
      const second = this.#seconds.get(key) as Second;
      let ready = second.waiting;
      if (second.latestMs <= untilMs) {
        this.#seconds.delete(key);
        this.#bytes -= second.bytes;
      } else {
        ready = second.waiting.filter(({ entry }) => entry.startMs <= untilMs);
        second.waiting = second.waiting.filter(({ entry }) => entry.startMs > untilMs);
      }
      // The sort is stable, so equal starts of one source keep the order of their lines.
      ready.sort((a, b) => a.entry.startMs - b.entry.startMs || a.source - b.source);
      for (const { entry } of ready) visit(entry);
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
