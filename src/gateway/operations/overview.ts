/** Gathers what all gateways did in the last 15 minutes, and how they are. */

import { VERSION } from '../config/version.ts';
import { isoTime } from '../denials/iso-time.ts';
import { STEP_MS, STEPS } from '../telemetry/decisions/traffic-history.ts';
import {
  type GatewayReport,
  MOST_POLICIES,
  policiesWithoutStore,
  reportsOfAll,
} from './gateway-report.ts';
import type { Output } from './operation-table.ts';
import { listedFields } from './override-report.ts';
import { statusOf } from './overview-status.ts';
import { listPolicies } from './policies.ts';
import {
  type Gateway,
  type GatewayStatus,
  MOST_ACTIONS,
  type StoreLapses,
} from './running-gateway.ts';
import { STORE_STATES, type StoreState } from './schemas/overview.ts';

/** Digests and states that are listed; a Redis on which anyone publishes could have many. */
const MOST_LISTED = 20;
/** The policy of requests that were decided before any policy was looked at. */
const NO_POLICY = 'none';

/** Pages poll the overview, so callers share one that is not older than this. */
const SHARED_FOR_MS = 1_000;

/** Callers within a second share an overview, but an operator sees each action at once. Never rejects. */
export function createOverview(gateway: Gateway): () => Promise<Output<'overview'>> {
  let shared: Promise<Output<'overview'>> | undefined;
  let sharedMs = 0;
  let actions: GatewayStatus['actions']['list'] | undefined;
  return () => {
    const nowMs = gateway.now();
    const { list } = gateway.status.actions;
    // The clock may have been set back.
    const isFresh = actions === list && Math.abs(nowMs - sharedMs) < SHARED_FOR_MS;
    if (shared === undefined || !isFresh) {
      shared = gatherOverview(gateway);
      sharedMs = nowMs;
      actions = list;
    }
    return shared;
  };
}

/** Never rejects: gateways that do not answer are missing from the sums. */
async function gatherOverview(gateway: Gateway): Promise<Output<'overview'>> {
  const { status, now } = gateway;
  const nowMs = now();
  const [{ reports, asked, untilMs }, version] = await Promise.all([
    reportsOfAll(gateway),
    status.store().isDegraded ? undefined : status.storeVersion(),
  ]);
  const isKnown = (policy: string) => policy === NO_POLICY || gateway.policies.current.has(policy);
  const traffic = trafficIn(reports, isKnown);
  const shown = policiesIn(gateway, traffic);
  const known = {
    time: isoTime(nowMs),
    gateway: { host: status.host, version: VERSION },
    gateways: {
      asked,
      answered: reports.length,
      workers: reports.filter((report) => report.is_worker).length,
    },
    step_ms: STEP_MS,
    until: isoTime(untilMs),
    rate_ms: RATE_MS,
    rates: sumOfRates([...traffic.values()].map(({ rates }) => rates)),
    ...shown,
    without_policy: traffic.get(NO_POLICY) ?? noTraffic(),
    store: {
      kind: status.storeKind,
      states: statesIn(reports, policiesWithoutStore(gateway)),
      ...(version !== undefined && { version }),
    },
    policy_file: filesIn(reports),
    ...proxyFaultsIn(reports, untilMs - STEPS * STEP_MS),
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

/** Rates are the mean of so long. */
const RATE_MS = 2 * STEP_MS;

type Rates = Output<'overview'>['rates'];
type Counts = Readonly<Record<'requests' | 'denials' | 'would_deny', readonly number[]>>;
type Series = Output<'overview'>['without_policy'];

/** By policy. Unknown policies are left out: another gateway may still have them, or anyone may have made them up. */
function trafficIn(
  reports: readonly GatewayReport[],
  isKnown: (policy: string) => boolean,
): Map<string, Series> {
  const sums = new Map<string, Series>();
  for (const { policy, requests, denials, wouldDeny } of reports.flatMap((each) => each.traffic)) {
    if (!isKnown(policy)) continue;
    const sum = sums.get(policy) ?? noTraffic();
    sums.set(policy, sum);
    addTo(sum.requests, requests);
    addTo(sum.denials, denials);
    addTo(sum.would_deny, wouldDeny);
  }
  for (const sum of sums.values()) sum.rates = ratesOf(sum);
  return sums;
}

function noTraffic(): Series {
  const zeros = () => new Array<number>(STEPS).fill(0);
  const series = { requests: zeros(), denials: zeros(), would_deny: zeros() };
  return { rates: ratesOf(series), ...series };
}

function addTo(sums: number[], counts: readonly number[]): void {
  for (const [i, count] of counts.entries()) sums[i] = (sums[i] ?? 0) + count;
}

/** In the order of the policy file; if there are too many, the ones with the most requests. */
function policiesIn(gateway: Gateway, traffic: ReadonlyMap<string, Series>) {
  const all = listPolicies(gateway).policies.map((policy) => ({
    ...policy,
    ...(traffic.get(policy.name) ?? noTraffic()),
  }));
  const left = all.length - MOST_POLICIES;
  if (left <= 0) return { policies: all };
  const measured = all.map((policy) => ({ policy, requests: sumOf(policy.requests) }));
  const busiest = measured.toSorted((a, b) => b.requests - a.requests).slice(0, MOST_POLICIES);
  const shown = new Set(busiest.map(({ policy }) => policy));
  return { policies: all.filter((policy) => shown.has(policy)), policies_left_out: left };
}

function statesIn(
  reports: readonly GatewayReport[],
  policies: ReadonlyMap<StoreState, readonly string[]>,
): Output<'overview'>['store']['states'] {
  const all = reports.flatMap(({ store }) => store.states.map((state) => ({ ...store, state })));
  const groups = Map.groupBy(
    all,
    ({ state, reason = '', lapses }) => `${state} ${reason} ${lapses !== undefined}`,
  );
  const order = ({ state }: { readonly state: StoreState }) => STORE_STATES.indexOf(state);
  return [...groups.values()]
    .flatMap((group) => {
      const [first] = group;
      if (first === undefined) return [];
      const { state, reason } = first;
      const lapses = group.flatMap((each) => each.lapses ?? []);
      return {
        ...{ state, gateways: group.length, since: firstTime(group) },
        ...(reason !== undefined && { reason }),
        policies: [...(policies.get(state) ?? [])],
        ...(lapses[0] && {
          lapses: {
            failed: sumOf(lapses.map(({ failed }) => failed)),
            checks: sumOf(lapses.map(({ checks }) => checks)),
            within_ms: lapses[0].withinMs,
          },
        }),
      };
    })
    .sort((a, b) => order(a) - order(b) || b.gateways - a.gateways)
    .slice(0, MOST_LISTED);
}

function firstTime(since: readonly { readonly sinceMs: number }[]): string {
  return isoTime(Math.min(...since.map(({ sinceMs }) => sinceMs)));
}

function filesIn(reports: readonly GatewayReport[]): Output<'overview'>['policy_file'] {
  const files = reports.map((report) => report.policy_file);
  const digests = [...Map.groupBy(files, ({ digest }) => digest)]
    .map(([digest, same]) => ({ digest, gateways: same.length, since: firstTime(same) }))
    .sort((a, b) => b.gateways - a.gateways)
    .slice(0, MOST_LISTED);
  const [refused] = files.flatMap((each) => each.refused ?? []).sort((a, b) => b.atMs - a.atMs);
  return {
    digests,
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

function sumOf(counts: readonly number[]): number {
  return counts.reduce((sum, count) => sum + count, 0);
}

/** Per second. */
export function ratesOf({ requests, denials, would_deny: wouldDeny }: Counts): Rates {
  return {
    requests: perSecond(requests),
    denials: perSecond(denials),
    would_deny: perSecond(wouldDeny),
  };
}

export function sumOfRates(all: readonly Rates[]): Rates {
  const sum = { requests: 0, denials: 0, would_deny: 0 };
  for (const rates of all) {
    sum.requests += rates.requests;
    sum.denials += rates.denials;
    sum.would_deny += rates.would_deny;
  }
  return sum;
}

function perSecond(counts: readonly number[]): number {
  return (sumOf(counts.slice(-RATE_MS / STEP_MS)) * 1_000) / RATE_MS;
}
