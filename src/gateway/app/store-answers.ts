/** Follows what the store answers, to tell one that is late now and then from one that does not answer. */
import type { StoreLapses } from '../operations/running-gateway.ts';

const BUCKET_MS = 1_000;
const BUCKETS = 10;

/** `now`: milliseconds since the epoch, as `lastAnswerMs`. */
export function followAnswers(now: () => number) {
  const recent = countRecentChecks(now);
  let lastAnswerMs = Number.NEGATIVE_INFINITY;
  let hasAnsweredSince = true;
  let isGivenUp = false;
  let isLate = false;
  return {
    lastAnswerMs: () => lastAnswerMs,
    /** The store answered anything, and counted so many checks. */
    answered(checks = 0): void {
      recent.add('counted', checks);
      lastAnswerMs = now();
      hasAnsweredSince = true;
      isGivenUp = false;
    },
    failed(reason: string, checks = 0): void {
      recent.add('failed', checks);
      hasAnsweredSince = false;
      isLate = reason === 'timeout';
    },
    givenUp(): void {
      hasAnsweredSince = false;
      isGivenUp = true;
    },
    /** Returns undefined if the store does not answer at all. Call this only while it is degraded. */
    lapses(): StoreLapses | undefined {
      const { counted, failed } = recent.sums();
      // A timeout is a late answer, unless too many follow each other. After other failures an answer has to come first.
      const mayBeLate = isLate && !isGivenUp;
      const isAnswering = mayBeLate
        ? counted > 0 || hasAnsweredSince
        : counted > 0 && hasAnsweredSince;
      if (!isAnswering) return undefined;
      return { failed, checks: counted + failed, withinMs: BUCKETS * BUCKET_MS };
    },
  };
}

/** The checks of the last seconds. */
function countRecentChecks(now: () => number) {
  const buckets: { second: number; counted: number; failed: number }[] = [];
  const currentSecond = () => Math.floor(now() / BUCKET_MS);
  return {
    add(what: 'counted' | 'failed', checks: number): void {
      const second = currentSecond();
      let bucket = buckets[second % BUCKETS];
      if (bucket?.second !== second) {
        bucket = { second, counted: 0, failed: 0 };
        buckets[second % BUCKETS] = bucket;
      }
      bucket[what] += checks;
    },
    sums() {
      const second = currentSecond();
      const sums = { counted: 0, failed: 0 };
      for (const bucket of buckets) {
        if (bucket === undefined || bucket.second > second || bucket.second <= second - BUCKETS)
          continue;
        sums.counted += bucket.counted;
        sums.failed += bucket.failed;
      }
      return sums;
    },
  };
}
