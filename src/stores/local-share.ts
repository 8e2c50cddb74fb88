/**
 * Takes over from a shared store with this process's share of every limit: all gateways together then admit what one
 * limit allows, without a word to each other.
 */

import { fnv1a32 } from '../core/fnv1a.ts';
import type { LocalLimiter } from '../core/local-limiter.ts';
import type { Descriptor, PeekResult, Quota, TakeResult } from '../core/store.ts';
import type { MemoryStore } from './memory/memory-store.ts';

/** Which of how many gateways this is. */
export interface Place {
  readonly count: number;
  /** From 0. */
  readonly rank: number;
}

export class LocalShare implements LocalLimiter {
  readonly #memory: MemoryStore;
  readonly #placeNow: () => Place;

  constructor(memory: MemoryStore, placeNow: () => Place) {
    this.#memory = memory;
    this.#placeNow = placeNow;
  }

  record(descriptors: readonly Descriptor[]): void {
    this.#memory.record(descriptors);
  }

  /** What a take would be measured by, with nothing taken. */
  peek(descriptors: readonly Descriptor[]): PeekResult {
    return this.#memory.peek(this.#shares(descriptors));
  }

  take(descriptors: readonly Descriptor[]): TakeResult {
    return this.#memory.take(this.#shares(descriptors));
  }

  #shares(descriptors: readonly Descriptor[]): readonly Descriptor[] {
    const place = this.#placeNow();
    return place.count === 1 ? descriptors : descriptors.map((each) => shared(each, place));
  }
}

function shared({ key, quota, cost }: Descriptor, place: Place): Descriptor {
  return { key, quota: shareOf(quota, cost, key, place), cost };
}

/** The shares of all gateways make up the quota: whole requests, the odd ones going to other gateways for other keys. */
export function shareOf(quota: Quota, cost: number, key: string, { count, rank }: Place): Quota {
  const turn = (rank + fnv1a32(key)) % count;
  const part = (units: number) => {
    const requests = Math.floor(units / cost);
    const odd = turn < requests % count ? 1 : 0;
    return (Math.floor(requests / count) + odd) * cost;
  };
  // A bucket that never fills up again could not tell when it does.
  const isBucket = quota.algorithm === 'token-bucket';
  const limit = isBucket ? Math.max(1, Math.floor(quota.limit / count)) : part(quota.limit);
  return { ...quota, limit, burst: part(quota.burst) };
}
