/** The store of a virtual gateway: counts in this process, and fails when a test says so. */
import type { LimitDescriptor } from '../../gateway/core/counting/descriptor.ts';
import {
  type Descriptor,
  type LocalLimiter,
  type QuotaStore,
  StoreError,
  type TakeResult,
} from '../../gateway/core/counting/store.ts';
import { LocalShare } from '../../gateway/stores/local-share.ts';
import { MemoryStore } from '../../gateway/stores/memory/memory-store.ts';

/** Called for every take that counts. */
export type OnTake = (descriptors: readonly LimitDescriptor[], result: TakeResult) => void;

export interface VirtualStoreOptions {
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  /** Gateways that share the limits while the store is down. */
  readonly gateways: number;
  readonly onTake: OnTake;
}

export class VirtualStore implements QuotaStore {
  isDown = false;
  /** Has its own counts, like a gateway beside its Redis. */
  readonly local: LocalLimiter;
  readonly memory: MemoryStore;
  readonly #onTake: OnTake;

  constructor({ now, gateways, onTake }: VirtualStoreOptions) {
    // No key is evicted: a test shall not depend on how many there are.
    const newMemory = () => new MemoryStore({ now, maxKeys: Number.POSITIVE_INFINITY });
    const share = new LocalShare(newMemory(), () => ({ count: gateways, rank: 0 }));
    this.memory = newMemory();
    this.#onTake = onTake;
    this.local = {
      record: (descriptors) => share.record(descriptors),
      take: (descriptors) => this.#taken(descriptors, share.take(descriptors)),
    };
  }

  /** Asynchronous, because only such a store may fail. */
  async take(descriptors: readonly Descriptor[]): Promise<TakeResult> {
    if (this.isDown) throw new StoreError('connection', 'the test says that the store is down');
    return this.#taken(descriptors, this.memory.take(descriptors));
  }

  reset(keys: readonly string[]): Promise<void> {
    return this.memory.reset(keys);
  }

  #taken(descriptors: readonly Descriptor[], result: TakeResult): TakeResult {
    // The core describes limits, so every descriptor has its limit.
    this.#onTake(descriptors as readonly LimitDescriptor[], result);
    return result;
  }
}
