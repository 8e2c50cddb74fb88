/** The peaks of people, without those of attackers that look like people. */
import { ascending, type Histogram, mergeInto, totalOf } from '../maps.ts';
import { bestFloor, floorOf, type Gap, gapsAbove } from './statistics.ts';

/** Attackers that look like people are few, and send several times as much as nearly everybody. */
const FAR_ABOVE = 4;
const LEAST_OUTLIERS = 3;
const OUTLIER_SHARE = 0.002;
/** An address of many people may send this many times as much as one of them. */
const SHARED = 10;

interface PeopleOfWindow {
  readonly windowMs: number;
  readonly ordinary: Histogram;
  readonly shared: Histogram;
}

/**
 * `people`: the peaks that limits rest on. Those of outliers are cut to the highest usual peak, so that no attacker
 * moves a limit.
 */
export function peopleIn({ windowMs, ordinary, shared }: PeopleOfWindow) {
  const nonBots = mergeInto(new Map(ordinary), shared, (a, b) => a + b);
  const outliers = outliersAmong(ordinary);
  const usual = cutAt(ordinary, outliers?.from ?? Number.POSITIVE_INFINITY);
  const most = SHARED * (bestFloor(usual)?.bound ?? Number.POSITIVE_INFINITY);
  const sharedUsual = cutAt(shared, most);
  return {
    ...{ windowMs, nonBots, hasOutliers: outliers !== undefined },
    people: mergeInto(usual, sharedUsual, (a, b) => a + b),
    mostShared: ascending(sharedUsual).at(-1)?.[0] ?? 0,
  };
}

function outliersAmong(peaks: Histogram): Gap | undefined {
  const usual = floorOf(peaks, 0.99);
  if (usual === undefined) return undefined;
  const most = Math.max(LEAST_OUTLIERS, OUTLIER_SHARE * totalOf(peaks));
  const sorted = ascending(peaks);
  return gapsAbove(sorted, usual.bound, FAR_ABOVE).find(({ to }) => countFrom(sorted, to) <= most);
}

function countFrom(sorted: readonly (readonly [number, number])[], least: number): number {
  return sorted.reduce((sum, [value, count]) => sum + (value >= least ? count : 0), 0);
}

function cutAt(peaks: Histogram, most: number): Histogram {
  const cut: Histogram = new Map();
  for (const [peak, days] of peaks) {
    const kept = Math.min(peak, most);
    cut.set(kept, (cut.get(kept) ?? 0) + days);
  }
  return cut;
}
