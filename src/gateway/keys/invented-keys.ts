/**
 * Limits how often the keys that clients of an address invent are looked up. Only look-ups that found nothing count, so
 * customers with keys may be as many as they like behind one address.
 */
import { RecentMap } from '../core/recent-map.ts';

/** A token bucket for each address. */
const AT_ONCE = 60;
const REGAINED_EVERY_MS = 1_000;
const MOST_ADDRESSES = 20_000;

interface Bucket {
  left: number;
  atMs: number;
}

export class InventedKeys {
  readonly #now: () => number;
  readonly #buckets = new RecentMap<Bucket>(MOST_ADDRESSES);

  /** `now`: milliseconds of a monotonic clock. */
  constructor(now: () => number) {
    this.#now = now;
  }

  mayLookUp(address: string): boolean {
    const bucket = this.#buckets.get(address);
    return bucket === undefined || this.#leftIn(bucket) >= 1;
  }

  /** A request of this address looked keys up, and the store has none of them. */
  foundNone(address: string): void {
    let bucket = this.#buckets.get(address);
    if (bucket === undefined) {
      bucket = { left: AT_ONCE, atMs: this.#now() };
      this.#buckets.set(address, bucket);
    }
    // Not below 0: requests that came together are no debt of those that come later.
    bucket.left = Math.max(0, this.#leftIn(bucket) - 1);
    bucket.atMs = this.#now();
  }

  #leftIn({ left, atMs }: Bucket): number {
    return Math.min(AT_ONCE, left + (this.#now() - atMs) / REGAINED_EVERY_MS);
  }
}
