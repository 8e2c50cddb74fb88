import { expect, test } from 'vitest';
import { MAX_WINDOW_MS } from '../../../../../src/gateway/core/counting/store.ts';
import {
  CLOCK_SKEW_MS,
  DAY_MS,
  LONG_PERIOD_MS,
  periodStart,
  reachesPrevious,
} from '../../../../../src/gateway/core/identity/salts.ts';
import { SALTS } from '../../../../support/requests.ts';

test('a day starts at 00:00 UTC', () => {
  const midnight = Date.UTC(2026, 10, 22);
  expect(periodStart(midnight, DAY_MS)).toBe(midnight);
  expect(periodStart(midnight + DAY_MS - 1, DAY_MS)).toBe(midnight);
  expect(periodStart(midnight - 1, DAY_MS)).toBe(midnight - DAY_MS);
});

test('no window is longer than the period of the long salts', () => {
  expect(LONG_PERIOD_MS).toBeGreaterThanOrEqual(MAX_WINDOW_MS);
});

test('a window reaches the previous salt until it has passed on every clock', () => {
  const { daily } = SALTS;
  const windowMs = 300_000;
  const lastMs = daily.startMs + windowMs + CLOCK_SKEW_MS - 1;
  expect(reachesPrevious(daily, windowMs, lastMs)).toBe(true);
  expect(reachesPrevious(daily, windowMs, lastMs + 1)).toBe(false);
});
