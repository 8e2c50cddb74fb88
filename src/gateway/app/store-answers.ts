/** Follows what the store answers, to tell one that is late now and then from one that does not answer. */
import type { StoreLapses } from '../operations/running-gateway.ts';
import { RECENT_CHECKS_MS, RecentChecks } from './recent-checks.ts';

export class StoreAnswers {
  readonly #now: () => number;
  readonly #recent = new RecentChecks();
  #lastAnswerMs = Number.NEGATIVE_INFINITY;
  #hasAnsweredSince = true;
  #isGivenUp = false;
  #isLate = false;

  /** `now`: milliseconds since the epoch. */
  constructor(now: () => number) {
    this.#now = now;
  }

  /** When the store last answered anything, milliseconds since the epoch. */
  get lastAnswerMs(): number {
    return this.#lastAnswerMs;
  }

  /** The store answered, and counted so many checks. */
  answered(checks = 0): void {
    this.#recent.add(this.#now(), 'counted', checks);
    this.#lastAnswerMs = this.#now();
    this.#hasAnsweredSince = true;
    this.#isGivenUp = false;
  }

  /** The store did not count so many checks. */
  failed(reason: string, checks = 0): void {
    this.#recent.add(this.#now(), 'failed', checks);
    this.#hasAnsweredSince = false;
    this.#isLate = reason === 'timeout';
  }

  givenUp(): void {
    this.#hasAnsweredSince = false;
    this.#isGivenUp = true;
  }

  /** Undefined if the store does not answer at all. Call this only while it is degraded. */
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
