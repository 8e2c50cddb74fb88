/** Chooses limits for a route from the peaks of its clients. */
import { ascending } from '../maps.ts';
import type { RoutePeaks } from './peaks.ts';
import { bestFloor, type Floor, floorOf, type Gap, gapsAbove, QUANTILES } from './statistics.ts';
import {
  BURST_WINDOWS,
  roundDown,
  roundUp,
  SUSTAINED_WINDOWS,
  USUAL_BURST,
  USUAL_SUSTAINED,
  type WindowLimit,
} from './windows.ts';

export interface WindowEvidence {
  readonly windowMs: number;
  readonly floor: Floor;
  readonly recommended: number;
  readonly gap: Gap | undefined;
}

interface Choice {
  readonly reason: string;
  readonly limits: readonly WindowLimit[];
  readonly isRecommended: boolean;
}

export interface ChoiceOptions {
  readonly capacity: WindowLimit | undefined;
  readonly precisionMs: number;
}

const MARGIN = 1.5;
const MOST = 3;
/** A narrower gap may be chance. */
const LEAST_RATIO = 2;
const LEAST_WINDOWS_IN_LOG = 2;
const LEAST_CHOICES = 3;
const MAX_CHOICES = 5;

/** Undefined if there is not enough evidence. `spanMs`: from the first request of the log to the last. */
export function choose(peaks: RoutePeaks, options: ChoiceOptions & { readonly spanMs: number }) {
  const evidence = peaks.windows.map(evidenceOf).filter((each) => each !== undefined);
  // Stamps that are no finer than a window do not show its peaks.
  const seen = evidence.filter(
    ({ windowMs }) =>
      windowMs > options.precisionMs && LEAST_WINDOWS_IN_LOG * windowMs <= options.spanMs,
  );
  const windows = [
    pick(seen, BURST_WINDOWS, USUAL_BURST),
    pick(seen, SUSTAINED_WINDOWS, USUAL_SUSTAINED),
  ].filter((each) => each !== undefined);
  const [first] = windows;
  if (first === undefined) return undefined;
  const planned = plan(peaks, windows, first.floor.quantile).map((choice) => ({
    ...choice,
    limits: binding(choice.limits.map((each) => rounded(each, options.capacity))),
  }));
  return { windows, choices: different(planned) };
}

function evidenceOf(window: RoutePeaks['windows'][number]): WindowEvidence | undefined {
  const { windowMs, nonBots, people } = window;
  const floor = bestFloor(people);
  if (floor === undefined) return undefined;
  const recommended = recommendedCount(window, floor);
  const gap = gapsAbove(ascending(nonBots), floor.bound, LEAST_RATIO).find(
    ({ from, to }) => from <= recommended && to > recommended,
  );
  return { windowMs, floor, recommended, gap };
}

/** Above all usual peaks, but never far above the floor, as attackers that look like people would have it. */
function recommendedCount(
  { people, mostShared }: RoutePeaks['windows'][number],
  { bound, quantile }: Floor,
): number {
  const peaks = ascending(people);
  const highest = peaks.at(-1)?.[0] ?? bound;
  const usual = gapsAbove(peaks, bound, LEAST_RATIO)[0]?.from ?? highest;
  // Without evidence for the highest quantile, tomorrow may have peaks above all of these.
  const margin = quantile === QUANTILES[0] ? 1 : MARGIN;
  return Math.max(MARGIN * bound, Math.min(MOST * bound, margin * usual), MARGIN * mostShared);
}

/** The usual window, or the longest that there is evidence for. */
function pick(
  evidence: readonly WindowEvidence[],
  windows: readonly number[],
  usual: number,
): WindowEvidence | undefined {
  const candidates = evidence.filter(({ windowMs }) => windows.includes(windowMs));
  return candidates.find(({ windowMs }) => windowMs === usual) ?? candidates.at(-1);
}

/** Limits from strict to generous, not rounded. `highest`: the highest quantile that there is evidence for. */
function plan(peaks: RoutePeaks, windows: readonly WindowEvidence[], highest: number): Choice[] {
  const countsBy = (countOf: (evidence: WindowEvidence) => number) =>
    windows.map((each) => ({ limit: countOf(each), windowMs: each.windowMs }));
  const lower = QUANTILES.filter((each) => each < highest).reverse();
  const floors = [...lower.slice(-2), highest].map((quantile) => ({
    reason: `${percentile(quantile)} of clients that are no bots`,
    limits: countsBy(({ windowMs }) => boundOf(peaks, windowMs, quantile)),
    isRecommended: false,
  }));
  const recommended = {
    reason: windows.some(({ gap }) => gap !== undefined)
      ? 'in the gap above these clients'
      : `at least ${MARGIN} times ${percentile(highest)}`,
    limits: countsBy(({ recommended }) => recommended),
    isRecommended: true,
  };
  const multiples = [2, 5, 10].map((factor) => ({
    reason: `at least ${factor} times the recommended limits`,
    limits: countsBy((each) => factor * roundUp(each.recommended)),
    isRecommended: false,
  }));
  return [...floors, recommended, ...multiples];
}

function boundOf(peaks: RoutePeaks, windowMs: number, quantile: number): number {
  const window = peaks.windows.find((each) => each.windowMs === windowMs);
  return (window && floorOf(window.people, quantile)?.bound) ?? 1;
}

export function percentile(quantile: number): string {
  return `p${Number((100 * quantile).toFixed(1))}`;
}

function rounded({ limit, windowMs }: WindowLimit, capacity: WindowLimit | undefined): WindowLimit {
  const round = roundUp(limit);
  if (capacity === undefined) return { limit: round, windowMs };
  const possible = capacity.limit * Math.max(1, windowMs / capacity.windowMs);
  return { limit: Math.min(round, roundDown(possible)), windowMs };
}

function binding(limits: readonly WindowLimit[]): WindowLimit[] {
  const [burst, sustained] = limits;
  if (burst === undefined || sustained === undefined) return [...limits];
  if (burst.limit >= sustained.limit) return [sustained];
  const most = burst.limit * Math.ceil(sustained.windowMs / burst.windowMs);
  return most <= sustained.limit ? [burst] : [burst, sustained];
}

/** The recommended choice stays; of others with the same limits, the first one. */
function different(planned: readonly Choice[]): Choice[] {
  const keyOf = ({ limits }: Choice) =>
    limits.map(({ limit, windowMs }) => `${limit}/${windowMs}`).join(' ');
  const recommended = planned.find(({ isRecommended }) => isRecommended);
  const byKey = new Map<string, Choice>();
  for (const each of planned) {
    const key = keyOf(each);
    const isTaken = byKey.has(key) || (recommended !== undefined && key === keyOf(recommended));
    if (each.isRecommended || !isTaken) byKey.set(key, each);
  }
  const found = [...byKey.values()];
  const after = found.findIndex(({ isRecommended }) => isRecommended) + 2;
  return found.slice(0, Math.min(MAX_CHOICES, Math.max(LEAST_CHOICES, after)));
}
