/** Words for a moment, as operators read them in answers and tables. */

const MINUTE_S = 60;
const HOUR_S = 3_600;
const DAY_S = 86_400;

/** `2026-11-22 00:53:32`, in UTC. */
export function shortTime(iso: string): string {
  return iso.slice(0, 19).replace('T', ' ');
}

/** `2026-11-22 00:53:32 UTC, in 42 min` */
export function momentText(iso: string, nowMs: number): string {
  return `${shortTime(iso)} UTC, ${relativeTime(iso, nowMs)}`;
}

/** `in 42 min`, `3 h ago` or `now` */
export function relativeTime(iso: string, nowMs: number): string {
  const seconds = Math.round((Date.parse(iso) - nowMs) / 1_000);
  if (seconds === 0) return 'now';
  const length = durationText(Math.abs(seconds));
  return seconds > 0 ? `in ${length}` : `${length} ago`;
}

/** In the largest unit of which there are at least two. */
function durationText(seconds: number): string {
  if (seconds < 2 * MINUTE_S) return `${seconds} s`;
  if (seconds < 2 * HOUR_S) return `${Math.round(seconds / MINUTE_S)} min`;
  return seconds < 2 * DAY_S
    ? `${Math.round(seconds / HOUR_S)} h`
    : `${Math.round(seconds / DAY_S)} d`;
}
