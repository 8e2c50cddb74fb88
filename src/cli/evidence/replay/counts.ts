/** What a policy or a limit did during a replay. Counts of several threads can be added up. */

/** Requests and denied requests of one minute. */
export type MinuteCounts = [requests: number, denied: number];

export interface Counts {
  requests: number;
  clients: number;
  /** For a policy in shadow mode: requests that it would have denied. */
  denied: number;
  deniedClients: number;
  /** Milliseconds since the epoch; infinite if nothing was denied. */
  firstDenialMs: number;
  lastDenialMs: number;
  /** By minute since the epoch. */
  readonly minutes: Map<number, MinuteCounts>;
}

export function newCounts(): Counts {
  return {
    requests: 0,
    clients: 0,
    denied: 0,
    deniedClients: 0,
    firstDenialMs: Number.POSITIVE_INFINITY,
    lastDenialMs: Number.NEGATIVE_INFINITY,
    minutes: new Map(),
  };
}

export const MINUTE_MS = 60_000;

export function minuteOf(counts: Counts, atMs: number): MinuteCounts {
  const minute = Math.floor(atMs / MINUTE_MS);
  let found = counts.minutes.get(minute);
  if (found === undefined) {
    found = [0, 0];
    counts.minutes.set(minute, found);
  }
  return found;
}

/** Adds the counts of other clients. */
export function addCounts(to: Counts, from: Counts): void {
  to.requests += from.requests;
  to.clients += from.clients;
  to.denied += from.denied;
  to.deniedClients += from.deniedClients;
  to.firstDenialMs = Math.min(to.firstDenialMs, from.firstDenialMs);
  to.lastDenialMs = Math.max(to.lastDenialMs, from.lastDenialMs);
  for (const [minute, [requests, denied]] of from.minutes) {
    const sum = minuteOf(to, minute * MINUTE_MS);
    sum[0] += requests;
    sum[1] += denied;
  }
}

/** Adds up the maps of several threads. */
export function addByName(to: Map<string, Counts>, from: ReadonlyMap<string, Counts>): void {
  for (const [name, counts] of from) addCounts(countsOf(to, name), counts);
}

export function countsOf(all: Map<string, Counts>, name: string): Counts {
  let found = all.get(name);
  if (found === undefined) {
    found = newCounts();
    all.set(name, found);
  }
  return found;
}
