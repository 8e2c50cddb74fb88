/** Measures limits: each client's own requests are counted as a gateway counts them, at the times of the log. */
import type { Descriptor } from '../../../gateway/core/counting/store.ts';
import { MemoryStore } from '../../../gateway/stores/memory/memory-store.ts';
import { type ByStratum, byStratum, type RoutePeaks } from './peaks.ts';
import {
  addCluster,
  type ClusterSums,
  noClusters,
  type Share,
  shareOfClusters,
  shareOfTrials,
} from './statistics.ts';
import { dayOf, WINDOWS, type WindowLimit } from './windows.ts';

export interface Denied extends Share {
  readonly denied: number;
  readonly of: number;
}

export type Measured = ByStratum<Readonly<Record<'clients' | 'clientDays' | 'requests', Denied>>>;

export function measure(peaks: RoutePeaks, limits: readonly WindowLimit[]): Measured {
  const sums = byStratum(noClusters);
  const denied = byStratum(() => ({ clients: 0, days: 0 }));
  const rules = limits.map((each) => ({ ...each, window: WINDOWS.indexOf(each.windowMs) }));
  peaks.traffic.eachClient((stratum, timesMs, place) => {
    // A client whose peaks fit is never denied, so only the others are counted again.
    const isTouched = rules.some(({ window, limit }) => peaks.peakOf(place, window) > limit);
    const { requests, days } = isTouched ? denialsOf(timesMs, limits) : NO_DENIALS;
    addCluster(sums[stratum], requests, timesMs.length);
    if (requests > 0) denied[stratum].clients++;
    denied[stratum].days += days;
  });
  return byStratum((stratum) => ({
    clients: deniedTrials(denied[stratum].clients, sums[stratum].clients),
    clientDays: deniedTrials(denied[stratum].days, peaks.clientDays[stratum]),
    requests: deniedRequests(sums[stratum]),
  }));
}

function deniedTrials(denied: number, of: number): Denied {
  return { denied, of, ...shareOfTrials(denied, of) };
}

function deniedRequests(sums: ClusterSums): Denied {
  return { denied: sums.parts, of: sums.wholes, ...shareOfClusters(sums) };
}

const NO_DENIALS = { requests: 0, days: 0 };

/** Takes the requests of one client, in ascending order. */
export function denialsOf(timesMs: Float64Array, limits: readonly WindowLimit[]) {
  let nowMs = 0;
  const store = new MemoryStore({ now: () => nowMs, maxKeys: limits.length });
  const descriptors = limits.map(descriptorOf);
  let requests = 0;
  let days = 0;
  let lastDay: number | undefined;
  for (nowMs of timesMs) {
    if (store.take(descriptors).admitted) continue;
    requests++;
    if (dayOf(nowMs) === lastDay) continue;
    lastDay = dayOf(nowMs);
    days++;
  }
  return { requests, days };
}

function descriptorOf({ limit, windowMs }: WindowLimit): Descriptor {
  const algorithm = 'sliding-window-log';
  const quota = { algorithm, limit, windowMs, burst: limit, countRejected: false } as const;
  return { key: String(windowMs), quota, cost: 1 };
}
