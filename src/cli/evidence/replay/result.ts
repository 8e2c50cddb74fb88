/** The result of a replay. The results of several threads are added up, because each has its own clients. */
import { type ClientRow, topRows } from './client-book.ts';

export interface ReplayResult {
  readonly policies: Map<string, Counts>;
  readonly limits: Map<string, Counts>;
  /** Requests by `Decision.reason`. */
  readonly reasons: Map<string, number>;
  /** Whether the stamps leave open when in a second a request came, and a window is so short that it matters. */
  readonly isUncertain: boolean;
  /** Denied requests by policy, if all requests of one second came at once. Only if that is uncertain. */
  readonly deniedAtOnce: Map<string, number>;
  /** Requests by the policy that denies them now and did not before, and the other way round. */
  readonly newlyDenied: Map<string, Change>;
  readonly newlyAllowed: Map<string, Change>;
  readonly clients: ClientTotals;
  readonly facts: LogFacts;
  /** By limit: the number of clients with each peak. Empty if peaks are not wanted. */
  readonly peaks: Map<string, Map<number, number>>;
}

export interface Change {
  requests: number;
  clients: number;
}

export interface ClientTotals {
  readonly all: number;
  readonly deniedRequests: number;
  readonly denied: number;
  readonly newlyDenied: number;
  readonly newlyAllowed: number;
  readonly mostDenied: readonly ClientRow[];
  readonly mostNewlyDenied: readonly ClientRow[];
  readonly mostNewlyAllowed: readonly ClientRow[];
}

/** What the log says, whatever the policies are. Every thread sees all of it. */
export interface LogFacts {
  /** Understood lines without the address of a client, which are not decided. */
  withoutAddress: number;
  withHost: number;
  /** Requests that were answered 429 when they were logged. */
  answered429: number;
  /** The first and the last start, in milliseconds since the epoch; infinite without entries. */
  fromMs: number;
  toMs: number;
}

/** There is at least one. */
export function addResults([first, ...others]: readonly ReplayResult[]): ReplayResult {
  if (first === undefined) throw new RangeError('a replay has at least one result');
  return others.reduce(addResult, first);
}

function addResult(to: ReplayResult, from: ReplayResult): ReplayResult {
  addByName(to.policies, from.policies);
  addByName(to.limits, from.limits);
  addNumbers(to.reasons, from.reasons);
  addNumbers(to.deniedAtOnce, from.deniedAtOnce);
  addChanges(to.newlyDenied, from.newlyDenied);
  addChanges(to.newlyAllowed, from.newlyAllowed);
  for (const [label, counts] of from.peaks) {
    const sum = to.peaks.get(label);
    if (sum === undefined) to.peaks.set(label, counts);
    else addNumbers(sum, counts);
  }
  return { ...to, clients: addClients(to.clients, from.clients) };
}

function addNumbers<K>(to: Map<K, number>, from: ReadonlyMap<K, number>): void {
  for (const [name, count] of from) to.set(name, (to.get(name) ?? 0) + count);
}

function addChanges(to: Map<string, Change>, from: ReadonlyMap<string, Change>): void {
  for (const [name, { requests, clients }] of from) {
    const before = to.get(name) ?? { requests: 0, clients: 0 };
    to.set(name, { requests: before.requests + requests, clients: before.clients + clients });
  }
}

function addClients(a: ClientTotals, b: ClientTotals): ClientTotals {
  return {
    all: a.all + b.all,
    deniedRequests: a.deniedRequests + b.deniedRequests,
    denied: a.denied + b.denied,
    newlyDenied: a.newlyDenied + b.newlyDenied,
    newlyAllowed: a.newlyAllowed + b.newlyAllowed,
    mostDenied: topRows([...a.mostDenied, ...b.mostDenied], byDenied),
    mostNewlyDenied: topRows([...a.mostNewlyDenied, ...b.mostNewlyDenied], byNewlyDenied),
    mostNewlyAllowed: topRows([...a.mostNewlyAllowed, ...b.mostNewlyAllowed], byNewlyAllowed),
  };
}

export const byDenied = ({ denied }: ClientRow) => denied;
export const byNewlyDenied = ({ newlyDenied }: ClientRow) => newlyDenied;
export const byNewlyAllowed = ({ newlyAllowed }: ClientRow) => newlyAllowed;

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
