/**
 * The keys under which addresses become pseudonyms. They change, so that what an address did cannot be followed for
 * longer than counting needs: every day at 00:00 UTC, and for windows longer than a day every 31 days.
 */
import type { KeyObject } from 'node:crypto';
import { MAX_WINDOW_MS } from './store.ts';

/** Of a salt: as long as the digests that it keys. */
export const SALT_BYTES = 32;

export const DAY_MS = 86_400_000;
/** The longest window, so that none reaches back further than the period before. */
export const LONG_PERIOD_MS = MAX_WINDOW_MS;

/** When the period began that a moment lies in. */
export function periodStart(nowMs: number, periodMs: number): number {
  return Math.floor(nowMs / periodMs) * periodMs;
}

/** How far the clocks of gateways may differ at midnight without one of them losing sight of a count. */
export const CLOCK_SKEW_MS = 60_000;

export interface PeriodSalts {
  /** When the current salt came into force, milliseconds since the epoch. */
  readonly startMs: number;
  readonly current: KeyObject;
  /** Absent when nobody knows it any more: nothing was counted under it. */
  readonly previous: KeyObject | undefined;
}

export interface Salts {
  readonly daily: PeriodSalts;
  /** For windows longer than a day, where there are any. */
  readonly long: PeriodSalts | undefined;
}

export interface SaltSource {
  /** The salts in force at this moment. The same object until they change. */
  at(nowMs: number, hasLongWindows: boolean): Salts;
}

/**
 * Whether a window may still hold requests that were counted under the previous pseudonym. While it may, a request is
 * counted under both: the previous log has everything that the current one lacks.
 */
export function reachesPrevious(salts: PeriodSalts, windowMs: number, nowMs: number): boolean {
  return nowMs - salts.startMs < windowMs + CLOCK_SKEW_MS;
}
