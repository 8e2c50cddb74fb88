/** Judges recorded traffic against an exact sliding window, without any code of the gateway. */

export interface Recorded {
  readonly admitted: boolean;
  /** When the request was sent and answered, milliseconds since the epoch: it was decided somewhere in between. */
  readonly sentMs: number;
  readonly answeredMs: number;
}

/** The most that any window of this length holds, wherever it starts. Stamps are in ascending order. */
export function fullestWindow(stampsMs: readonly number[], windowMs: number): number {
  let fullest = 0;
  let start = 0;
  for (const [end, stamp] of stampsMs.entries()) {
    while ((stampsMs[start] ?? 0) <= stamp - windowMs) start++;
    fullest = Math.max(fullest, end - start + 1);
  }
  return fullest;
}

/**
 * Denials for which there was room at every moment between question and answer. The gateway may have decided at any
 * of these moments, so a denial is wrong only if none of them had a full window.
 */
export function wrongDenials(
  requests: readonly Recorded[],
  stampsMs: readonly number[],
  limit: number,
  windowMs: number,
): number {
  const fullIntervals = intervalsWithoutRoom(stampsMs, limit, windowMs);
  return requests.filter(
    ({ admitted, sentMs, answeredMs }) =>
      !admitted && !fullIntervals.some(([from, to]) => from <= answeredMs && sentMs < to),
  ).length;
}

/** A window is full from the stamp that fills it until the oldest of its units is over. */
function intervalsWithoutRoom(
  stampsMs: readonly number[],
  limit: number,
  windowMs: number,
): [number, number][] {
  const intervals: [number, number][] = [];
  for (let i = limit - 1; i < stampsMs.length; i++) {
    intervals.push([stampsMs[i] ?? 0, (stampsMs[i - limit + 1] ?? 0) + windowMs]);
  }
  return intervals;
}
