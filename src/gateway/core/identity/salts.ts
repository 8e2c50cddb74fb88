/**
 * Salts: the keys that turn addresses into pseudonyms. They change, so that an address cannot be tracked for longer than
 * counting needs: every day at 00:00 UTC, and every 31 days for limits that remember longer than a day.
 */
import type { KeyObject } from 'node:crypto';
import { MAX_WINDOW_MS } from '../counting/store.ts';

export const SALT_BYTES = 32;

export const DAY_MS = 86_400_000;
/** It is as long as the longest window, so that no window reaches back further than the previous period. */
export const LONG_PERIOD_MS = MAX_WINDOW_MS;

/** Milliseconds since the epoch. */
export function periodStart(nowMs: number, periodMs: number): number {
  return Math.floor(nowMs / periodMs) * periodMs;
}

/** How far the clocks of gateways may differ at midnight without losing counts. */
export const CLOCK_SKEW_MS = 60_000;

export interface PeriodSalts {
  /** The start of the current period, milliseconds since the epoch. */
  readonly startMs: number;
  readonly current: KeyObject;
  /** Undefined if no gateway knows it any more: then nothing was counted under it. */
  readonly previous: KeyObject | undefined;
}

export interface Salts {
  /** The secret that all gateways share and keep: it keys names that must never change. */
  readonly kept: KeyObject;
  readonly daily: PeriodSalts;
  readonly long: PeriodSalts | undefined;
}

export interface SaltSource {
  at(nowMs: number, hasLongWindows: boolean): Salts;
}

/** Whether units under the previous pseudonym may still matter: then a request is counted under both. */
export function reachesPrevious(salts: PeriodSalts, lookbackMs: number, nowMs: number): boolean {
  return nowMs - salts.startMs < lookbackMs + CLOCK_SKEW_MS;
}
