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

interface Reading {
  readonly log: WindowLog;
  /** Time never runs backwards within a key: after a step back of the clock the newest unit says what time it is. */
  readonly atMs: number;
  readonly descriptor: Descriptor;
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
      if (reading.log.length + descriptor.cost > descriptor.limit) admitted = false;
    }
    const states: QuotaState[] = [];
    for (const { log, atMs, descriptor } of readings) {
      if (admitted) this.#append(descriptor, log, atMs);
      states.push(stateOf(descriptor, log, atMs));
    }
    return { admitted, states, nowMs };
  }

  async close(): Promise<void> {
    this.#entries.clear();
  }

  #read(descriptor: Descriptor, nowMs: number): Reading {
    const entry = this.#entries.get(descriptor.key);
    if (entry === undefined) return { log: new WindowLog(), atMs: nowMs, descriptor };
    this.#entries.delete(descriptor.key);
    this.#entries.set(descriptor.key, entry);
    const atMs = Math.max(nowMs, entry.log.newestMs);
    entry.log.forget(atMs - descriptor.windowMs);
    return { log: entry.log, atMs, descriptor };
  }

  #append(descriptor: Descriptor, log: WindowLog, atMs: number): void {
    log.append(atMs, descriptor.cost);
    const { key, windowMs } = descriptor;
    if (this.#entries.has(key)) return;
    this.#makeRoom(atMs);
    this.#entries.set(key, { log, windowMs });
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

function stateOf(descriptor: Descriptor, log: WindowLog, atMs: number): QuotaState {
  const { limit, windowMs, cost } = descriptor;
  const excess = log.length + cost - limit;
  return {
    limit,
    remaining: Math.max(0, limit - log.length),
    resetAfterMs: log.length === 0 ? 0 : log.newestMs + windowMs - atMs,
    retryAfterMs: excess <= 0 ? 0 : log.stampAt(excess - 1) + windowMs - atMs,
  };
}
