/** For how long an override holds, why, and who says so. */
import { parseDuration } from '../config/duration.ts';
import { DAY_MS } from '../core/salts.ts';
import { OperationError } from './operation-error.ts';
import type { Terms } from './override.ts';

/** As operators write it. */
export interface WrittenTerms {
  /** A duration: `30min`. */
  readonly for: string;
  readonly reason: string;
  readonly by?: string | undefined;
}

const LONGEST_MS = 31 * DAY_MS;

/** Throws an OperationError for a duration that is none, or too long. */
export function termsOf(
  { for: duration, reason, by = 'unknown' }: WrittenTerms,
  now: number,
): Terms {
  try {
    const ms = parseDuration(duration);
    if (ms > LONGEST_MS) {
      throw new RangeError('31d is the longest: what is to stay belongs in the policy file');
    }
    return { sinceMs: now, untilMs: now + ms, reason, by };
  } catch (error) {
    throw new OperationError('invalid', `for: ${(error as Error).message}`);
  }
}
