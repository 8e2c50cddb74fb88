/** Descriptors in one line. */
import { Calendar, type CalendarUnit } from '../../src/gateway/core/counting/calendar.ts';
import type { Descriptor, Quota } from '../../src/gateway/core/counting/store.ts';

export interface QuotaParts extends Partial<Quota> {
  readonly limit: number;
  readonly windowMs: number;
}

export function quotaOf(parts: QuotaParts): Quota {
  return {
    algorithm: 'sliding-window-log',
    burst: parts.limit,
    countRejected: false,
    ...parts,
  };
}

/** A limit by the calendar. */
export function calendarQuota(limit: number, unit: CalendarUnit, zone: string): Quota {
  const calendar = new Calendar(unit, zone);
  const windowMs = calendar.longestMs;
  return quotaOf({ limit, windowMs, algorithm: 'fixed-window', calendar });
}

export function descriptorOf(
  key: string,
  { cost = 1, ...quota }: QuotaParts & { cost?: number },
): Descriptor {
  return { key, quota: quotaOf(quota), cost };
}
