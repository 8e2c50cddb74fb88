/**
 * Counts in this process: for one gateway without Redis, and in place of Redis while that is away. It is also the
 * model that the Redis script is held against, answer by answer.
 */
import type {
  Algorithm,
  Descriptor,
  Quota,
  QuotaState,
  QuotaStore,
  TakeResult,
} from '../../core/store.ts';
import type { Meter } from './meter.ts';
import { MeterTable } from './meter-table.ts';
import { TokenBucket } from './token-bucket.ts';
import { WindowCounter } from './window-counter.ts';
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

const NEW_METER: Readonly<Record<Algorithm, (quota: Quota) => Meter>> = {
  'sliding-window-log': ({ windowMs }) => new WindowLog(windowMs),
  'sliding-window-counter': ({ windowMs }) => new WindowCounter(windowMs),
  'token-bucket': () => new TokenBucket(),
};

export class MemoryStore implements QuotaStore {
  readonly #now: () => number;
  readonly #maxKeys: number;
  readonly #meters = new MeterTable();

  constructor({ now, maxKeys }: MemoryStoreOptions) {
    this.#now = now;
    this.#maxKeys = maxKeys;
  }

  /** Keys held. */
  get size(): number {
    return this.#meters.size;
  }

  async take(descriptors: readonly Descriptor[]): Promise<TakeResult> {
    const nowMs = this.#now();
    const keysBefore = this.#meters.size;
    let admitted = true;
    // A key is made room for when something is counted under it: asking alone leaves nothing behind.
    const meters = descriptors.map(({ key, quota, cost }) => {
      const meter = this.#meters.get(key)?.meter ?? NEW_METER[quota.algorithm](quota);
      if (!meter.fits(quota, cost, nowMs)) admitted = false;
      return meter;
    });
    const states: QuotaState[] = [];
    for (const [i, meter] of meters.entries()) {
      const { key, quota, cost } = descriptors[i] as Descriptor;
      if (admitted) meter.add(quota, cost, nowMs);
      else if (quota.countRejected) meter.refuse(quota, cost, nowMs);
      if (admitted || quota.countRejected) this.#meters.add(key, meter);
      states.push(meter.state(quota, cost, nowMs));
    }
    // Not before: what a request is counted in must not be forgotten half-way through it.
    this.#makeRoom(this.#meters.size - keysBefore, nowMs);
    return { admitted, states, nowMs };
  }

  async reset(keys: readonly string[]): Promise<void> {
    for (const key of keys) this.#meters.delete(key);
  }

  /** Looks at two old keys for every new one, so that what is over goes faster than what is new comes. */
  #makeRoom(newKeys: number, nowMs: number): void {
    for (let looked = 0; looked < 2 * newKeys; looked++) {
      const { oldest } = this.#meters;
      if (oldest === undefined) return;
      if (oldest.meter.overAtMs > nowMs && this.#meters.size <= this.#maxKeys) return;
      this.#meters.delete(oldest.key);
    }
  }
}
