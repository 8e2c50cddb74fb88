/** How many checks the store counted, and how many it failed, in the last seconds. */

const BUCKET_MS = 1_000;
const BUCKETS = 10;
export const RECENT_CHECKS_MS = BUCKETS * BUCKET_MS;

interface Bucket {
  /** Seconds since the epoch. */
  second: number;
  counted: number;
  failed: number;
}

export class RecentChecks {
  readonly #buckets: Bucket[] = [];

  /** `nowMs`: milliseconds since the epoch. */
  add(nowMs: number, what: 'counted' | 'failed', checks: number): void {
    const second = Math.floor(nowMs / BUCKET_MS);
    let bucket = this.#buckets[second % BUCKETS];
    if (bucket?.second !== second) {
      bucket = { second, counted: 0, failed: 0 };
      this.#buckets[second % BUCKETS] = bucket;
    }
    bucket[what] += checks;
  }

  sums(nowMs: number): { readonly counted: number; readonly failed: number } {
    const second = Math.floor(nowMs / BUCKET_MS);
    const sums = { counted: 0, failed: 0 };
    for (const bucket of this.#buckets) {
      if (bucket === undefined || bucket.second > second || bucket.second <= second - BUCKETS)
        continue;
      sums.counted += bucket.counted;
      sums.failed += bucket.failed;
    }
    return sums;
  }
}
