import type { Unit } from '../rules/rule.ts';

/** The index is the number in `RateLimitResponse.RateLimit.Unit` and in rls_conf.proto. 0 is UNKNOWN. */
export const NUMBERED_UNITS: readonly (Unit | undefined)[] = [
  undefined,
  ...(['second', 'minute', 'hour', 'day', 'month', 'year', 'week'] as const),
];

/** The index is the number in `envoy.type.v3.RateLimitUnit`, which overrides use. It has no week. */
export const OVERRIDE_UNITS = NUMBERED_UNITS.slice(0, -1);
