/** Words for a moment, as operators read them in answers and tables. */

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

/** `42 min`: in the largest unit of which there are at least two. */
export function durationText(seconds: number): string {
  if (seconds < 120) return `${seconds} s`;
  const minutes = Math.round(seconds / 60);
  if (minutes < 120) return `${minutes} min`;
  const hours = Math.round(seconds / 3_600);
  return hours < 48 ? `${hours} h` : `${Math.round(seconds / 86_400)} d`;
}

/** `02:14 UTC`; the day too if it is not that of the present moment. Both are ISO 8601 in UTC. */
export function clockText(iso: string, nowIso: string): string {
  const isToday = iso.slice(0, 10) === nowIso.slice(0, 10);
  return `${isToday ? iso.slice(11, 16) : shortTime(iso).slice(0, 16)} UTC`;
}
