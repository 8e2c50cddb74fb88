/** The peaks of a route's clients, in each window. */
import { Histogram } from './histogram.ts';
import { eachDayPeak } from './peaks.ts';
import { isBot, STRATA, type Stratum } from './strata.ts';
import type { RouteTraffic } from './traffic.ts';
import { WINDOWS } from './windows.ts';

export type ByStratum<T> = Readonly<Record<Stratum, T>>;

export interface WindowPeaks {
  readonly windowMs: number;
  /** Of client-days of clients that are no bots. */
  readonly nonBots: Histogram;
  /** Of client-days of all clients. */
  readonly all: Histogram;
}

export interface RoutePeaks {
  readonly traffic: RouteTraffic;
  /** In the order of WINDOWS. */
  readonly windows: readonly WindowPeaks[];
  readonly clients: ByStratum<number>;
  readonly clientDays: ByStratum<number>;
  readonly nonBotDays: number;
  readonly nonBotClients: number;
  /** The greatest peak of a client in a window. `place` is that of `eachClient`, `window` an index of WINDOWS. */
  peakOf(place: number, window: number): number;
}

export function byStratum<T>(partOf: (stratum: Stratum) => T): Record<Stratum, T> {
  return Object.fromEntries(STRATA.map((each) => [each, partOf(each)])) as Record<Stratum, T>;
}

export function peaksOf(traffic: RouteTraffic): RoutePeaks {
  const windows = WINDOWS.map((windowMs) => ({
    ...{ windowMs, nonBots: new Histogram(), all: new Histogram() },
  }));
  const clients = byStratum(() => 0);
  const clientDays = byStratum(() => 0);
  const greatest = new Uint32Array(traffic.clients * WINDOWS.length);
  traffic.eachClient((stratum, timesMs, place) => {
    clients[stratum]++;
    for (const [i, { windowMs, nonBots, all }] of windows.entries()) {
      const index = place * WINDOWS.length + i;
      eachDayPeak(timesMs, windowMs, (_, peak) => {
        if (i === 0) clientDays[stratum]++;
        if (!isBot(stratum)) nonBots.add(peak);
        all.add(peak);
        greatest[index] = Math.max(greatest[index] as number, peak);
      });
    }
  });
  const sum = (counts: ByStratum<number>) =>
    STRATA.reduce((total, each) => total + (isBot(each) ? 0 : counts[each]), 0);
  return {
    ...{ traffic, windows, clients, clientDays },
    nonBotDays: sum(clientDays),
    nonBotClients: sum(clients),
    peakOf: (place, window) => greatest[place * WINDOWS.length + window] as number,
  };
}
