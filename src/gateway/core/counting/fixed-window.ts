/** The windows of quotas with fixed windows. */
import type { Window } from './calendar.ts';
import type { Quota } from './store.ts';

/** The window that contains a moment, in milliseconds since the epoch. Without a calendar, windows start at multiples of their length. */
export function fixedWindowAt(
  { windowMs, calendar }: Pick<Quota, 'windowMs' | 'calendar'>,
  nowMs: number,
): Window {
  if (calendar !== undefined) return calendar.windowAt(nowMs);
  const startMs = nowMs - (nowMs % windowMs);
  return { startMs, endMs: startMs + windowMs };
}
