/**
 * Counts in this process: for one gateway without Redis, and in place of Redis while that is away. It is also the
 * model that the Redis script is held against, answer by answer.
 */
import type { Descriptor, QuotaState, QuotaStore, TakeResult } from '../../core/store.ts';
import { WindowLog } from './window-log.ts';

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
  readonly log: WindowLog;
  /** Time never runs backwards within a key: after a step back of the clock the newest unit says what time it is. */
  readonly atMs: number;
  /** Units at the head of the log that are over. */
  readonly stale: number;
}

export class MemoryStore implements QuotaStore {
  readonly #now: () => number;
  readonly #maxKeys: number;
  /** In the order of their last use. */
  readonly #entries = new Map<string, { readonly log: WindowLog; readonly windowMs: number }>();

  constructor({ now, maxKeys }: MemoryStoreOptions) {
    this.#now = now;
    this.#maxKeys = maxKeys;
  }

  /** Keys held. */
  get size(): number {
    return this.#entries.size;
  }

  async take(descriptors: readonly Descriptor[]): Promise<TakeResult> {
    const nowMs = this.#now();
    let admitted = true;
    const readings: Reading[] = [];
    for (const descriptor of descriptors) {
      const reading = this.#read(descriptor, nowMs);
      readings.push(reading);
      if (excessOf(reading) > 0) admitted = false;
    }
    const states: QuotaState[] = [];
    for (const reading of readings) {
      states.push(stateOf(admitted ? this.#append(reading) : reading));
    }
    return { admitted, states, nowMs };
  }

  async close(): Promise<void> {
    this.#entries.clear();
  }

  #read(descriptor: Descriptor, nowMs: number): Reading {
    const entry = this.#entries.get(descriptor.key);
    if (entry === undefined) return { descriptor, log: new WindowLog(), atMs: nowMs, stale: 0 };
    this.#entries.delete(descriptor.key);
    this.#entries.set(descriptor.key, entry);
    const { log } = entry;
    const atMs = Math.max(nowMs, log.newestMs);
    return { descriptor, log, atMs, stale: log.firstAfter(atMs - descriptor.windowMs) };
  }

  #append({ descriptor, log, atMs, stale }: Reading): Reading {
    log.forget(stale);
    log.append(atMs, descriptor.cost);
    const { key, windowMs } = descriptor;
    if (!this.#entries.has(key)) {
      this.#makeRoom(atMs);
      this.#entries.set(key, { log, windowMs });
    }
    return { descriptor, log, atMs, stale: 0 };
  }

  /** Looks at two old keys for every new one, so that what is over goes faster than what is new comes. */
  #makeRoom(nowMs: number): void {
    for (let looked = 0; looked < 2; looked++) {
      const oldest = this.#entries.entries().next().value;
      if (oldest === undefined) return;
      const [key, { log, windowMs }] = oldest;
      const isOver = log.newestMs <= nowMs - windowMs;
      if (!isOver && this.#entries.size < this.#maxKeys) return;
      this.#entries.delete(key);
    }
  }
}

/** Units that would have to be over before a request of this cost fits. */
function excessOf({ descriptor, log, stale }: Reading): number {
  return log.length - stale + descriptor.cost - descriptor.limit;
}

function stateOf(reading: Reading): QuotaState {
  const { descriptor, log, atMs, stale } = reading;
  const { limit, windowMs } = descriptor;
  const excess = excessOf(reading);
  return {
    limit,
    remaining: Math.max(0, limit - (log.length - stale)),
    resetAfterMs: Math.max(0, log.newestMs + windowMs - atMs),
    retryAfterMs: excess <= 0 ? 0 : log.stampAt(stale + excess - 1) + windowMs - atMs,
  };
}
