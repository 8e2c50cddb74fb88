/** The units of limits. */

import { MAX_LIMIT, MAX_WINDOW_MS } from '../../core/counting/store.ts';
import { DAY_MS } from '../../core/identity/salts.ts';
import { type Rate, UNITS, type Unit } from './rule.ts';

/** How long the units last. A month has 30 days and a year 365, as in envoyproxy/ratelimit (src/utils/utilities.go). */
export const UNIT_MS: Readonly<Record<Unit, number>> = {
  second: 1_000,
  minute: 60_000,
  hour: 3_600_000,
  day: DAY_MS,
  week: 7 * DAY_MS,
  month: 30 * DAY_MS,
  year: 365 * DAY_MS,
};

/** In any case. */
export function unitOf(text: string): Unit | undefined {
  const wanted = text.toUpperCase();
  return UNITS.find((unit) => unit.toUpperCase() === wanted);
}

/** Sliding windows and buckets are bounded, see core/store.ts. */
export function needsFixedWindow({ requestsPerUnit, unit }: Rate): boolean {
  return requestsPerUnit > MAX_LIMIT || UNIT_MS[unit] > MAX_WINDOW_MS;
}
