/** The results of several threads are added up, because each has its own clients. */
import { type Histogram, mergeInto } from '../maps.ts';
import { type ClientRow, type Denials, topRows } from './client-book.ts';

export type MinuteCounts = [requests: number, denied: number];

/** What a policy or a limit did. In shadow mode, denied requests are those that it would have denied. */
export interface Counts extends Change {
  denied: number;
  deniedClients: number;
  /** Milliseconds since the epoch; infinite if nothing was denied. */
  firstDenialMs: number;
  lastDenialMs: number;
  readonly minutes: Map<number, MinuteCounts>;
}

export interface Change {
  requests: number;
  clients: number;
}

export interface ReplayResult {
  readonly policies: Map<string, Counts>;
  /** By the key of the limit's row. */
  readonly limits: Map<string, Counts>;
  /** Requests that were denied before a policy was looked at, by the reason. */
  readonly refusals: Map<string, Counts>;
  readonly reasons: Map<string, number>;
  /** The stamps leave open when in a second a request came, and a window is so short that it matters. */
  readonly isUncertain: boolean;
  /** Denied requests by policy, if all requests of one second came at once. Empty unless `isUncertain`. */
  readonly deniedAtOnce: Map<string, number>;
  /** Requests by the policy that denies them now and did not before, and the other way round. */
  readonly newlyDenied: Map<string, Change>;
  readonly newlyAllowed: Map<string, Change>;
  readonly clients: ClientTotals;
  readonly facts: LogFacts;
  /** By the key of the limit's row: the number of clients with each peak. Empty if peaks are not wanted. */
  readonly peaks: Map<string, Histogram>;
}

interface ClientTotals extends Readonly<Record<Denials, Affected>> {
  readonly all: number;
  readonly deniedRequests: number;
  readonly deniedRequestsWithShadow: number;
}

interface Affected {
  readonly count: number;
  readonly most: readonly ClientRow[];
}

type LogFacts = ReturnType<typeof newFacts>;

/** Every thread sees all of the log. */
export function newFacts() {
  return {
    ...{
      withoutAddress: 0,
      withHost: 0,
      withoutHost: 0,
      withoutTime: 0,
      answered429: 0,
      ofOptions: 0,
      withoutStatus: 0,
    },
    /** Milliseconds since the epoch; infinite without entries. */
    fromMs: Number.POSITIVE_INFINITY,
    toMs: Number.NEGATIVE_INFINITY,
  };
}

export const MINUTE_MS = 60_000;

export function addResults(results: readonly ReplayResult[]): ReplayResult {
  return results.reduce(addResult);
}

function addResult(to: ReplayResult, from: ReplayResult): ReplayResult {
  mergeInto(to.policies, from.policies, addCounts);
  mergeInto(to.limits, from.limits, addCounts);
  mergeInto(to.refusals, from.refusals, addCounts);
  mergeInto(to.reasons, from.reasons, sum);
  mergeInto(to.deniedAtOnce, from.deniedAtOnce, sum);
  mergeInto(to.newlyDenied, from.newlyDenied, addChanges);
  mergeInto(to.newlyAllowed, from.newlyAllowed, addChanges);
  mergeInto(to.peaks, from.peaks, (a, b) => mergeInto(a, b, sum));
  return { ...to, clients: addClients(to.clients, from.clients) };
}

const sum = (a: number, b: number) => a + b;

function addCounts(a: Counts, b: Counts): Counts {
  return {
    ...addChanges(a, b),
    denied: a.denied + b.denied,
    deniedClients: a.deniedClients + b.deniedClients,
    firstDenialMs: Math.min(a.firstDenialMs, b.firstDenialMs),
    lastDenialMs: Math.max(a.lastDenialMs, b.lastDenialMs),
    minutes: mergeInto(a.minutes, b.minutes, ([r, d], [requests, denied]) => [
      r + requests,
      d + denied,
    ]),
  };
}

function addChanges(a: Change, b: Change): Change {
  return { requests: a.requests + b.requests, clients: a.clients + b.clients };
}

function addClients(a: ClientTotals, b: ClientTotals): ClientTotals {
  const affected = (denials: Denials): Affected => ({
    count: a[denials].count + b[denials].count,
    most: topRows([...a[denials].most, ...b[denials].most], denials),
  });
  return {
    all: a.all + b.all,
    deniedRequests: a.deniedRequests + b.deniedRequests,
    deniedRequestsWithShadow: a.deniedRequestsWithShadow + b.deniedRequestsWithShadow,
    denied: affected('denied'),
    deniedWithShadow: affected('deniedWithShadow'),
    newlyDenied: affected('newlyDenied'),
    newlyAllowed: affected('newlyAllowed'),
  };
}
