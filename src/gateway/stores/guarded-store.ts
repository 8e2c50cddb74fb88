/** Calls a store only if all gates are open. Otherwise the request follows the failure mode of its policy at once. */
import type { Descriptor, QuotaStore, StoreError, TakeResult } from '../core/counting/store.ts';

export interface Gate {
  /** Why the store must not be called now; undefined if it may be. Called for every request. */
  obstacle(): StoreError | undefined;
}

export class GuardedStore implements QuotaStore {
  readonly #store: QuotaStore;
  readonly #gates: readonly Gate[];

  constructor(store: QuotaStore, gates: readonly Gate[]) {
    this.#store = store;
    this.#gates = gates;
  }

  take(descriptors: readonly Descriptor[]): TakeResult | Promise<TakeResult> {
    for (const gate of this.#gates) {
      const obstacle = gate.obstacle();
      if (obstacle !== undefined) return Promise.reject(obstacle);
    }
    return this.#store.take(descriptors);
  }

  async reset(keys: readonly string[]): Promise<void> {
    await this.#store.reset(keys);
  }
}
