/** Reads when a key ends. */
import { z } from 'zod';
import { parseDuration } from '../config/rate.ts';
import { DAY_MS } from '../core/identity/salts.ts';
import { OperationError } from './operation-error.ts';

/** Later moments may be beyond what a Date can hold. */
const LONGEST_MS = 100 * 366 * DAY_MS;
const MOMENT = z.union([z.iso.date(), z.iso.datetime({ offset: true })]);
const FORMS =
  'write a duration such as 90d, a date such as 2027-01-31, a time such as 2027-01-31T18:00:00Z, or never';

/** Milliseconds since the epoch; Infinity without an end. Throws an OperationError for a moment that has passed. */
export function endFrom(expires: string | undefined, nowMs: number): number {
  if (expires === undefined || expires === 'never') return Number.POSITIVE_INFINITY;
  const endsMs = momentIn(expires) ?? nowMs + durationIn('expires', expires, FORMS);
  if (endsMs <= nowMs) {
    throw new OperationError(
      'invalid',
      `expires: ${expires} has passed; to end a key now, headgate keys revoke`,
    );
  }
  return endsMs;
}

/** Undefined for another text. */
export function momentIn(text: string): number | undefined {
  return MOMENT.safeParse(text).success ? Date.parse(text) : undefined;
}

/** Milliseconds. */
export function overlapFrom(text: string): number {
  if (text === '0') return 0;
  return durationIn('overlap', text, 'write a duration such as 24h, or 0');
}

function durationIn(field: string, text: string, forms: string): number {
  try {
    const ms = parseDuration(text);
    if (ms <= LONGEST_MS) return ms;
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
  }
  throw new OperationError('invalid', `${field}: is not a duration up to 100 years: ${forms}`);
}
