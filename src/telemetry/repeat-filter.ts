/** Keeps events that repeat with every request from filling the log. */

const REPEAT_AFTER_MS = 60_000;

/** True for the first event of each kind within a minute. */
export function createRepeatFilter(now: () => number): (kind: string) => boolean {
  const lastMs = new Map<string, number>();
  return (kind) => {
    const nowMs = now();
    if (nowMs - (lastMs.get(kind) ?? Number.NEGATIVE_INFINITY) < REPEAT_AFTER_MS) return false;
    lastMs.set(kind, nowMs);
    return true;
  };
}
