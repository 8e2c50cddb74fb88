/** Peaks: the most requests of a client in any sliding window, for each day. */
import { countValue, type Histogram } from '../maps.ts';
import { peopleIn } from './people.ts';
import { isBot, STRATA, type Stratum } from './strata.ts';
import type { RouteTraffic } from './traffic.ts';
import { dayOf, WINDOWS } from './windows.ts';

/** Each day in which the client sent a request, and its peak. The window may begin on the day before. */
export type VisitPeak = (day: number, peak: number) => void;

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

export type ByStratum<T> = Readonly<Record<Stratum, T>>;

export type RoutePeaks = ReturnType<typeof peaksOf>;

export function byStratum<T>(partOf: (stratum: Stratum) => T): Record<Stratum, T> {
  return Object.fromEntries(STRATA.map((each) => [each, partOf(each)])) as Record<Stratum, T>;
}

export function peaksOf(traffic: RouteTraffic) {
  const windows = WINDOWS.map((windowMs) => ({
    windowMs,
    // They count client-days.
    ordinary: new Map() as Histogram,
    shared: new Map() as Histogram,
  }));
  const clients = byStratum(() => 0);
  const clientDays = byStratum(() => 0);
  const greatest = new Uint32Array(traffic.clients * WINDOWS.length);
  traffic.eachClient((stratum, timesMs, place) => {
    clients[stratum]++;
    for (const [i, { windowMs, ordinary, shared }] of windows.entries()) {
      const index = place * WINDOWS.length + i;
      eachDayPeak(timesMs, windowMs, (_, peak) => {
        if (i === 0) clientDays[stratum]++;
        if (!isBot(stratum)) countValue(stratum === 'ordinary' ? ordinary : shared, peak);
        greatest[index] = Math.max(greatest[index] as number, peak);
      });
    }
  });
  const sum = (counts: ByStratum<number>) =>
    STRATA.reduce((total, each) => total + (isBot(each) ? 0 : counts[each]), 0);
  return {
    ...{ traffic, clients, clientDays, windows: windows.map(peopleIn) },
    nonBotDays: sum(clientDays),
    nonBotClients: sum(clients),
    /** The greatest peak of a client in a window. `place` is that of `eachClient`, `window` an index of WINDOWS. */
    peakOf: (place: number, window: number) => greatest[place * WINDOWS.length + window] as number,
  };
}
