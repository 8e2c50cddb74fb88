/**
 * Shortens the horizon of a log that is so dense that all entries within it would fill the memory. It counts every entry,
 * also those that this thread does not want, so all threads of a replay shorten it alike.
 */

/** An entry takes about this much besides its line. */
const ENTRY_BYTES = 500;
/** 100,000 ordinary lines. */
const MAX_BYTES = 67_108_864;
const SECOND_MS = 1_000;

interface Second {
  bytes: number;
  latestMs: number;
}

export class DenseHorizon {
  readonly #maxBytes: number;
  /** Entries that wait, by the second in which they start. */
  readonly #seconds = new Map<number, Second>();
  #bytes = 0;

  constructor(maxBytes = MAX_BYTES) {
    this.#maxBytes = maxBytes;
  }

  add(startMs: number, lineLength: number): void {
    const bytes = lineLength + ENTRY_BYTES;
    const key = Math.floor(startMs / SECOND_MS);
    const second = this.#seconds.get(key);
    this.#bytes += bytes;
    if (second === undefined) this.#seconds.set(key, { bytes, latestMs: startMs });
    else {
      second.bytes += bytes;
      if (startMs > second.latestMs) second.latestMs = startMs;
    }
  }

  /** Entries up to this moment are visited now: `readyMs`, or later if too many are waiting. */
  readyMs(readyMs: number): number {
    for (const [key, second] of this.#seconds) {
      if (second.latestMs <= readyMs) this.#remove(key, second);
    }
    let untilMs = readyMs;
    while (this.#bytes > this.#maxBytes) {
      let earliest = Number.POSITIVE_INFINITY;
      for (const key of this.#seconds.keys()) earliest = Math.min(earliest, key);
      const second = this.#seconds.get(earliest) as Second;
      untilMs = Math.max(untilMs, second.latestMs);
      this.#remove(earliest, second);
    }
    return untilMs;
  }

  #remove(key: number, { bytes }: Second): void {
    this.#seconds.delete(key);
    this.#bytes -= bytes;
  }
}
