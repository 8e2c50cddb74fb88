/** The keys under which addresses become pseudonyms: a new one every UTC day, so that days cannot be linked. */
import type { KeyObject } from 'node:crypto';

export const DAY_MS = 86_400_000;

/** How far the clocks of gateways may differ at midnight without one of them losing sight of a count. */
export const CLOCK_SKEW_MS = 60_000;

export interface DailySalts {
  /** 00:00 UTC of the day that `today` belongs to, milliseconds since the epoch. */
  readonly dayStartMs: number;
  readonly today: KeyObject;
  /** Absent when nobody knows it any more: nothing was counted under it. */
  readonly yesterday: KeyObject | undefined;
}

export interface SaltSource {
  /** The salts in force at this moment. The same object until they change. */
  at(nowMs: number): DailySalts;
}

/**
 * Whether a window may still hold requests that were counted under yesterday's pseudonym. While it may, a request is
 * counted under both: yesterday's log has everything that today's lacks.
 */
export function reachesYesterday(salts: DailySalts, windowMs: number, nowMs: number): boolean {
  return nowMs - salts.dayStartMs < windowMs + CLOCK_SKEW_MS;
}
