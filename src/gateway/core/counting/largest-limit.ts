/** The largest numbers that the algorithms count exactly. */
import { type Algorithm, MAX_FIXED_LIMIT, MAX_LIMIT, type Quota } from './store.ts';

/**
 * In a unit other than requests; no limit is larger. A fixed window adds units, and quota headers say them: their integers
 * have 15 digits at most (RFC 9651, section 3.3.1). The others multiply units by the window, and doubles end at 2^53.
 */
export const MAX_OF_ANY_UNIT = 999_999_999_999_999;
const MAX_PRODUCT = 2 ** 52 - 1;

/** The largest limit, and the largest bucket, of this algorithm and window. */
export function mostOf(
  { algorithm, windowMs }: { readonly algorithm: Algorithm; readonly windowMs: number },
  hasUnit: boolean,
): number {
  if (!hasUnit) return algorithm === 'fixed-window' ? MAX_FIXED_LIMIT : MAX_LIMIT;
  return algorithm === 'fixed-window' ? MAX_OF_ANY_UNIT : Math.floor(MAX_PRODUCT / windowMs);
}

/** The quota for more than one client. */
export function multiplied(
  { algorithm, limit, windowMs, calendar, burst, countRejected }: Quota,
  factor: number,
  hasUnit: boolean,
): Quota {
  const most = mostOf({ algorithm, windowMs }, hasUnit);
  return {
    algorithm,
    limit: Math.min(limit * factor, most),
    windowMs,
    ...(calendar && { calendar }),
    burst: Math.min(burst * factor, most),
    countRejected,
  };
}
