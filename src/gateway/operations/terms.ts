/** The terms of an override: how long it lasts, why, and who made it. */
import { parseDuration } from '../config/rate.ts';
import { DAY_MS } from '../core/identity/salts.ts';
import type { Terms } from '../stores/overrides/override.ts';
import { OperationError } from './operation-error.ts';

export interface WrittenTerms {
  /** A duration such as `30min`. */
  readonly for: string;
  readonly reason: string;
  readonly by?: string | undefined;
}

const LONGEST_MS = 31 * DAY_MS;

/** Throws an OperationError for a duration that cannot be read or is too long. */
export function termsOf(
  { for: duration, reason, by = 'unknown' }: WrittenTerms,
  nowMs: number,
): Terms {
  try {
    const ms = parseDuration(duration);
    if (ms > LONGEST_MS) {
      throw new RangeError('must be at most 31d; write permanent changes into the policy file');
    }
    return { sinceMs: nowMs, untilMs: nowMs + ms, reason, by };
  } catch (error) {
    throw new OperationError('invalid', `for: ${(error as Error).message}`);
  }
}
