/** The gap: no client-day has a peak between the two values. What lies above it is likely another kind of traffic. */

export interface Gap {
  readonly from: number;
  readonly to: number;
  /** `to / from`. */
  readonly ratio: number;
  /** The geometric middle. */
  readonly middle: number;
}

/** A narrower gap may be chance. */
const LEAST_RATIO = 2;

/** The widest gap at or above the floor, by ratio; the lowest of equals. `peaks`: of all clients, in ascending order. */
export function widestGap(peaks: readonly number[], floor: number): Gap | undefined {
  let widest: Gap | undefined;
  let from = floor;
  for (const to of peaks) {
    if (to <= floor) continue;
    const ratio = to / from;
    if (ratio >= LEAST_RATIO && ratio > (widest?.ratio ?? 0)) {
      widest = { from, to, ratio, middle: Math.sqrt(from * to) };
    }
    from = to;
  }
  return widest;
}
