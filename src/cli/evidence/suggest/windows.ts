/** The windows in which requests are counted, and limits over them as people write them. */
import { DAY_MS } from '../../../gateway/core/identity/salts.ts';

export interface WindowLimit {
  readonly limit: number;
  readonly windowMs: number;
}

const SECOND = 1_000;
const MINUTE = 60_000;
const HOUR = 3_600_000;

/** Each catches another kind of traffic: short ones catch floods early, long ones catch slow floods at all. */
export const BURST_WINDOWS: readonly number[] = [SECOND, 10 * SECOND, MINUTE];
export const SUSTAINED_WINDOWS: readonly number[] = [5 * MINUTE, HOUR];
export const WINDOWS: readonly number[] = [...BURST_WINDOWS, ...SUSTAINED_WINDOWS];
/** Where traffic has no gap that favours another window. */
export const USUAL_BURST = MINUTE;
export const USUAL_SUSTAINED = HOUR;

/** As in a policy file: `10s`, `1min`. */
export function windowText(windowMs: number): string {
  if (windowMs % HOUR === 0) return `${windowMs / HOUR}h`;
  return windowMs % MINUTE === 0 ? `${windowMs / MINUTE}min` : `${windowMs / SECOND}s`;
}

/** As in a policy file: `100/1min`. */
export function rateText({ limit, windowMs }: WindowLimit): string {
  return `${limit}/${windowText(windowMs)}`;
}

const STEPS = [1, 1.5, 2, 3, 5];

export function roundUp(value: number): number {
  for (let power = 1; ; power *= 10) {
    const found = STEPS.find((step) => Number.isInteger(step * power) && step * power >= value);
    if (found !== undefined) return found * power;
  }
}

/** The greatest round number that is at most `value`, and at least 1. */
export function roundDown(value: number): number {
  let greatest = 1;
  for (let power = 1; power <= value; power *= 10) {
    for (const step of STEPS) {
      if (Number.isInteger(step * power) && step * power <= value) greatest = step * power;
    }
  }
  return greatest;
}

/** The day of a moment, as a number since the epoch, in UTC. */
export function dayOf(timeMs: number): number {
  return Math.floor(timeMs / DAY_MS);
}
