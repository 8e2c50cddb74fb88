/** Follows what the store answers, to tell one that is late now and then from one that does not answer. */
import type { StoreLapses } from '../operations/running-gateway.ts';

const BUCKET_MS = 1_000;
const BUCKETS = 10;
const RECENT_CHECKS_MS = BUCKETS * BUCKET_MS;

export class StoreAnswers {
  readonly #now: () => number;
  readonly #recent = new RecentChecks();
  #lastAnswerMs = Number.NEGATIVE_INFINITY;
  #hasAnsweredSince = true;
  #isGivenUp = false;
  #isLate = false;

  constructor(now: () => number) {
    this.#now = now;
  }

  get lastAnswerMs(): number {
    return this.#lastAnswerMs;
  }

  /** The store answered anything, and counted so many checks. */
  answered(checks = 0): void {
    this.#recent.add(this.#now(), 'counted', checks);
    this.#lastAnswerMs = this.#now();
    this.#hasAnsweredSince = true;
    this.#isGivenUp = false;
  }

  failed(reason: string, checks = 0): void {
    this.#recent.add(this.#now(), 'failed', checks);
    this.#hasAnsweredSince = false;
    this.#isLate = reason === 'timeout';
  }

  givenUp(): void {
    this.#hasAnsweredSince = false;
    this.#isGivenUp = true;
  }

  /** Returns undefined if the store does not answer at all. Call this only while it is degraded. */
  lapses(): StoreLapses | undefined {
    const { counted, failed } = this.#recent.sums(this.#now());
    // A timeout is a late answer, unless too many follow each other. After other failures an answer has to come first.
    const mayBeLate = this.#isLate && !this.#isGivenUp;
    const isAnswering = mayBeLate
      ? counted > 0 || this.#hasAnsweredSince
      : counted > 0 && this.#hasAnsweredSince;
    return isAnswering
      ? { failed, checks: counted + failed, withinMs: RECENT_CHECKS_MS }
      : undefined;
  }
}

interface Bucket {
  /** Seconds since the epoch. */
  second: number;
  counted: number;
  failed: number;
}

class RecentChecks {
  readonly #buckets: Bucket[] = [];

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
