/** Peaks: the greatest number of requests of a client in any sliding window, for each day. */
import { DAY_MS } from '../../../gateway/core/identity/salts.ts';

/** Each day in which the client sent a request, and its peak. The window may begin on the day before. */
export type VisitPeak = (day: number, peak: number) => void;

/** The day of a moment, as a number since the epoch, in UTC. */
export function dayOf(timeMs: number): number {
  return Math.floor(timeMs / DAY_MS);
}

/** `timesMs` is in ascending order. As in the store, a request counts while it is younger than the window. */
export function eachDayPeak(timesMs: Float64Array, windowMs: number, visit: VisitPeak): void {
  let oldest = 0;
  let peak = 0;
  let day = dayOf(timesMs[0] ?? 0);
  for (let newest = 0; newest < timesMs.length; newest++) {
    const nowMs = timesMs[newest] as number;
    if (dayOf(nowMs) !== day) {
      visit(day, peak);
      day = dayOf(nowMs);
      peak = 0;
    }
    while ((timesMs[oldest] as number) <= nowMs - windowMs) oldest++;
    peak = Math.max(peak, newest - oldest + 1);
  }
  if (timesMs.length > 0) visit(day, peak);
}
