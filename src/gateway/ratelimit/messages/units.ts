import type { Unit } from '../rules/rule.ts';

/** Of `RateLimitResponse.RateLimit.Unit`. */
export const UNIT_NUMBERS: Readonly<Record<Unit, number>> = {
  second: 1,
  minute: 2,
  hour: 3,
  day: 4,
  month: 5,
  year: 6,
  week: 7,
};

/** Of `envoy.type.v3.RateLimitUnit`, which overrides use. It has no week. */
export const OVERRIDE_UNITS: ReadonlyMap<number, Unit> = new Map([
  [1, 'second'],
  [2, 'minute'],
  [3, 'hour'],
  [4, 'day'],
  [5, 'month'],
  [6, 'year'],
]);
