/** Gathers what all gateways did in the last 15 minutes, and how they are. */
import { VERSION } from '../config/shipped-files.ts';
import { isoTime } from '../denials/iso-time.ts';
import { STEP_MS, STEPS } from '../telemetry/decisions/traffic-history.ts';
import { type GatewayReport, policiesWithoutStore, reportsOfAll } from './gateway-report.ts';
import type { Output } from './operation-table.ts';
import { listedFields } from './override-report.ts';
import { statusOf } from './overview-status.ts';
import {
  noTraffic,
  policiesIn,
  RATE_MS,
  sumOf,
  sumOfRates,
  trafficIn,
} from './overview-traffic.ts';
import { type Gateway, type GatewayStatus, MOST_ACTIONS } from './running-gateway.ts';
import { STORE_STATES, type StoreState } from './schemas/overview.ts';
import { unsettledIn } from './unsettled.ts';

/** Digests and states that are listed; a Redis on which anyone publishes could have many. */
const MOST_LISTED = 20;
/** The policy of requests that were decided before any policy was looked at. */
const NO_POLICY = 'none';

/** Pages poll the overview, so callers share one that is not older than this, unless an operator did something. */
const SHARED_FOR_MS = 1_000;

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
  const [{ reports, queried, untilMs }, version] = await Promise.all([
    reportsOfAll(gateway),
    status.store().isDegraded ? undefined : status.storeVersion(),
  ]);
  const isKnown = (policy: string) => policy === NO_POLICY || gateway.policies.current.has(policy);
  const traffic = trafficIn(reports, isKnown);
  const unsettled = unsettledIn(gateway, reports).slice(0, MOST_LISTED);
  const known = {
    time: isoTime(nowMs),
    gateway: { host: status.host, version: VERSION },
    gateways: {
      asked: queried,
      answered: reports.length,
      workers: reports.filter((report) => report.is_worker).length,
    },
    step_ms: STEP_MS,
    until: isoTime(untilMs),
    rate_ms: RATE_MS,
    rates: sumOfRates([...traffic.values()].map(({ rates }) => rates)),
    ...policiesIn(gateway, traffic),
    without_policy: traffic.get(NO_POLICY) ?? noTraffic(),
    store: {
      kind: status.storeKind,
      states: statesIn(reports, policiesWithoutStore(gateway)),
      ...(version !== undefined && { version }),
    },
    policy_file: filesIn(reports),
    ...(unsettled.length > 0 && { unsettled_policies: unsettled }),
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

/** Faults before this time, in milliseconds since the epoch, are left out. */
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
