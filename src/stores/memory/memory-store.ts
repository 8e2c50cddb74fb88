/**
 * Counts in this process: for one gateway without Redis, and in place of Redis while that is away. It is also the
 * model that the Redis script is held against, answer by answer.
 */
import type { Descriptor, QuotaState, QuotaStore, TakeResult } from '../../core/store.ts';
import { type LogEntry, LogTable } from './log-table.ts';

export interface MemoryStoreOptions {
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  /**
   * Keys held at most; the one that nobody asked about for the longest time makes room. A client that keeps asking is
   * never the one.
   */
  readonly maxKeys: number;
}

/** What a log holds for a descriptor at one moment. Reading changes nothing: only an admitted request does. */
interface Reading {
  readonly descriptor: Descriptor;
  readonly entry: LogEntry | undefined;
  /** Time never runs backwards within a key: after a step back of the clock the newest unit says what time it is. */
  readonly atMs: number;
  /** Units at the head of the log that are over. */
  readonly stale: number;
  /** Units that count. */
  readonly live: number;
}

export class MemoryStore implements QuotaStore {
  readonly #now: () => number;
  readonly #maxKeys: number;
  readonly #logs = new LogTable();

  constructor({ now, maxKeys }: MemoryStoreOptions) {
    this.#now = now;
    this.#maxKeys = maxKeys;
  }

  /** Keys held. */
  get size(): number {
    return this.#logs.size;
  }

  async take(descriptors: readonly Descriptor[]): Promise<TakeResult> {
    const nowMs = this.#now();
    const keysBefore = this.#logs.size;
    let admitted = true;
    const readings: Reading[] = [];
    for (const descriptor of descriptors) {
      const reading = this.#read(descriptor, nowMs);
      readings.push(reading);
      if (excessOf(reading) > 0) admitted = false;
    }
    const states: QuotaState[] = [];
    for (const reading of readings) {
      states.push(stateOf(admitted ? this.#append(reading) : reading, nowMs));
    }
    // Not before: what a request is counted in must not be forgotten half-way through it.
    this.#makeRoom(this.#logs.size - keysBefore, nowMs);
    return { admitted, states, nowMs };
  }

  #read(descriptor: Descriptor, nowMs: number): Reading {
    const entry = this.#logs.get(descriptor.key);
    if (entry === undefined) return { descriptor, entry, atMs: nowMs, stale: 0, live: 0 };
    const atMs = Math.max(nowMs, entry.log.newestMs);
    const stale = entry.log.firstAfter(atMs - descriptor.windowMs);
    return { descriptor, entry, atMs, stale, live: entry.log.length - stale };
  }

  #append({ descriptor, entry: known, atMs, stale, live }: Reading): Reading {
    const { key, windowMs, cost } = descriptor;
    const entry = known ?? this.#logs.add(key, windowMs);
    entry.log.forget(stale);
    entry.log.append(atMs, cost);
    return { descriptor, entry, atMs, stale: 0, live: live + cost };
  }

  /** Looks at two old keys for every new one, so that what is over goes faster than what is new comes. */
  #makeRoom(newKeys: number, nowMs: number): void {
    for (let looked = 0; looked < 2 * newKeys; looked++) {
      const { oldest } = this.#logs;
      if (oldest === undefined) return;
      const isOver = oldest.log.newestMs <= nowMs - oldest.windowMs;
      if (!isOver && this.#logs.size <= this.#maxKeys) return;
      this.#logs.delete(oldest);
    }
  }
}

/** Units that would have to be over before a request of this cost fits. */
function excessOf({ descriptor, live }: Reading): number {
  return live + descriptor.cost - descriptor.limit;
}

function stateOf(reading: Reading, nowMs: number): QuotaState {
  const { descriptor, entry, stale, live } = reading;
  const { limit, windowMs } = descriptor;
  const excess = excessOf(reading);
  const untilOver = (stampMs: number) => Math.max(0, stampMs + windowMs - nowMs);
  return {
    limit,
    remaining: Math.max(0, limit - live),
    resetAfterMs: entry === undefined ? 0 : untilOver(entry.log.newestMs),
    retryAfterMs:
      entry === undefined || excess <= 0 ? 0 : untilOver(entry.log.stampAt(stale + excess - 1)),
  };
}
