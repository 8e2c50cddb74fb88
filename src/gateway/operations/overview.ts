/** Gathers what all gateways did in the last 15 minutes, and how they are. */
import { VERSION } from '../config/shipped-files.ts';
import { isoTime } from '../denials/iso-time.ts';
import { STEP_MS, STEPS } from '../telemetry/decisions/traffic-history.ts';
import {
  type GatewayReport,
  gatewayReportSchema,
  lastStepEnd,
  MOST_POLICIES,
  policiesWithoutStore,
  type ReportQuery,
} from './gateway-report.ts';
import { listedFields } from './listed-fields.ts';
import { RATE_MS, ratesOf, sumOfRates } from './overview-rates.ts';
import { statusOf } from './overview-status.ts';
import { listPolicies } from './policies.ts';
import { MOST_ACTIONS } from './recent-actions.ts';
import type { Gateway, StoreLapses } from './running-gateway.ts';
import { type Overview, STORE_STATES, type StoreState } from './schemas/overview.ts';

/** Digests and states that are listed; a Redis on which anyone publishes could have many. */
const MOST_LISTED = 20;
/** The policy of requests that were decided before any policy was looked at. */
const NO_POLICY = 'none';

/** Never rejects: gateways that do not answer are missing from the sums. */
export async function gatherOverview(gateway: Gateway): Promise<Overview> {
  const { status, now, queryAll } = gateway;
  const nowMs = now();
  const query: ReportQuery = { about: 'overview', untilMs: lastStepEnd(nowMs) };
  const [{ answers, asked }, version] = await Promise.all([
    queryAll(query),
    status.store().isDegraded ? undefined : status.storeVersion(),
  ]);
  const reports = answers.flatMap((each) => gatewayReportSchema.safeParse(each).data ?? []);
  const traffic = new SummedTraffic(
    reports,
    (policy) => policy === NO_POLICY || gateway.policies.current.has(policy),
  );
  const shown = policiesIn(gateway, traffic);
  const withoutPolicy = traffic.of(NO_POLICY);
  const known = {
    time: isoTime(nowMs),
    gateway: { host: status.host, version: VERSION },
    gateways: {
      asked,
      answered: reports.length,
      workers: reports.filter((report) => report.is_worker).length,
    },
    step_ms: STEP_MS,
    until: isoTime(query.untilMs),
    rate_ms: RATE_MS,
    rates: sumOfRates([...traffic.all()].map(({ rates }) => rates)),
    ...shown,
    without_policy: withoutPolicy,
    store: {
      kind: status.storeKind,
      states: statesIn(reports, policiesWithoutStore(gateway)),
      ...(version !== undefined && { version }),
    },
    policy_file: filesIn(reports),
    ...proxyFaultsIn(reports, query.untilMs - STEPS * STEP_MS),
    actions: reports
      .flatMap(({ actions }) => actions)
      .sort((a, b) => compare(b.at, a.at))
      .slice(0, MOST_ACTIONS)
      .map((each) => ({
        ...each,
        ...listedFields(each.subject ?? '', gateway.policies.current.listedClients),
      })),
  };
  return { ...known, status: statusOf(known) };
}

type Series = Overview['without_policy'];
type Lapses = NonNullable<Overview['store']['states'][number]['lapses']>;

class SummedTraffic {
  readonly #byPolicy = new Map<string, Series>();

  /** Other policies are left out: another gateway may still have them, or anyone may have made them up. */
  constructor(reports: readonly GatewayReport[], isKnown: (policy: string) => boolean) {
    const all = reports.flatMap(({ traffic }) => traffic);
    for (const { policy, requests, denials, wouldDeny } of all) {
      if (!isKnown(policy)) continue;
      const sum = this.#byPolicy.get(policy) ?? nothing();
      this.#byPolicy.set(policy, sum);
      addTo(sum.requests, requests);
      addTo(sum.denials, denials);
      addTo(sum.would_deny, wouldDeny);
    }
    for (const sum of this.#byPolicy.values()) sum.rates = ratesOf(sum);
  }

  of(policy: string): Series {
    return this.#byPolicy.get(policy) ?? nothing();
  }

  all(): Iterable<Series> {
    return this.#byPolicy.values();
  }

  requestsOf(policy: string): number {
    return sumOf(this.#byPolicy.get(policy)?.requests ?? []);
  }
}

function nothing(): Series {
  const zeros = () => new Array<number>(STEPS).fill(0);
  const series = { requests: zeros(), denials: zeros(), would_deny: zeros() };
  return { rates: ratesOf(series), ...series };
}

function addTo(sums: number[], counts: readonly number[]): void {
  for (const [i, count] of counts.entries()) sums[i] = (sums[i] ?? 0) + count;
}

/** In the order of the policy file; if there are too many, the ones with the most requests. */
function policiesIn(gateway: Gateway, traffic: SummedTraffic) {
  const { policies } = listPolicies(gateway);
  const left = policies.length - MOST_POLICIES;
  const shown = left <= 0 ? policies : busiestOf(policies, (name) => traffic.requestsOf(name));
  return {
    policies: shown.map((policy) => ({ ...policy, ...traffic.of(policy.name) })),
    ...(left > 0 && { policies_left_out: left }),
  };
}

function busiestOf<P extends { readonly name: string }>(
  policies: readonly P[],
  requestsOf: (name: string) => number,
): P[] {
  const measured = policies.map((policy) => ({ policy, requests: requestsOf(policy.name) }));
  const most = measured.sort((a, b) => b.requests - a.requests).slice(0, MOST_POLICIES);
  const names = new Set(most.map(({ policy }) => policy.name));
  return policies.filter(({ name }) => names.has(name));
}

function statesIn(
  reports: readonly GatewayReport[],
  policies: ReadonlyMap<StoreState, readonly string[]>,
): Overview['store']['states'] {
  const groups = new Map<string, Overview['store']['states'][number]>();
  for (const { store } of reports) {
    for (const state of store.states) {
      const name = `${state} ${store.reason ?? ''} ${store.lapses !== undefined}`;
      const { gateways = 0, since = isoTime(store.sinceMs), lapses } = groups.get(name) ?? {};
      groups.set(name, {
        state,
        gateways: gateways + 1,
        since: earlier(since, isoTime(store.sinceMs)),
        ...(store.reason !== undefined && { reason: store.reason }),
        policies: [...(policies.get(state) ?? [])],
        ...(store.lapses && { lapses: addedLapses(store.lapses, lapses) }),
      });
    }
  }
  const order = ({ state }: { readonly state: (typeof STORE_STATES)[number] }) =>
    STORE_STATES.indexOf(state);
  return [...groups.values()]
    .sort((a, b) => order(a) - order(b) || b.gateways - a.gateways)
    .slice(0, MOST_LISTED);
}

function addedLapses({ failed, checks, withinMs }: StoreLapses, sum: Lapses | undefined): Lapses {
  return {
    failed: failed + (sum?.failed ?? 0),
    checks: checks + (sum?.checks ?? 0),
    within_ms: withinMs,
  };
}

function filesIn(reports: readonly GatewayReport[]): Overview['policy_file'] {
  const byDigest = new Map<string, Overview['policy_file']['digests'][number]>();
  for (const { policy_file: file } of reports) {
    const { digest } = file;
    const { gateways = 0, since = isoTime(file.sinceMs) } = byDigest.get(digest) ?? {};
    byDigest.set(digest, {
      digest,
      gateways: gateways + 1,
      since: earlier(since, isoTime(file.sinceMs)),
    });
  }
  const [refused] = reports
    .flatMap(({ policy_file: file }) => file.refused ?? [])
    .sort((a, b) => b.atMs - a.atMs);
  return {
    digests: [...byDigest.values()].sort((a, b) => b.gateways - a.gateways).slice(0, MOST_LISTED),
    ...(refused && { refused: { at: isoTime(refused.atMs), mistakes: refused.mistakes } }),
  };
}

/** Those since this time, milliseconds since the epoch. */
function proxyFaultsIn(reports: readonly GatewayReport[], sinceMs: number) {
  const lastOf = (fault: 'untrusted_proxy' | 'refused_caller') => {
    const times = reports.flatMap((report) => report[fault]?.atMs ?? []);
    const recent = times.filter((atMs) => atMs >= sinceMs);
    if (recent.length === 0) return {};
    return { [fault]: { gateways: recent.length, last: isoTime(Math.max(...recent)) } };
  };
  return { ...lastOf('untrusted_proxy'), ...lastOf('refused_caller') };
}

/** Compares times as text, which works for ISO 8601 in UTC. */
function compare(a: string, b: string): number {
  return a < b ? -1 : Number(a > b);
}

function earlier(a: string, b: string): string {
  return compare(a, b) <= 0 ? a : b;
}

function sumOf(counts: readonly number[]): number {
  return counts.reduce((sum, count) => sum + count, 0);
}
