import { STEP_MS, STEPS } from '../telemetry/decisions/traffic-history.ts';
import { type GatewayReport, MOST_POLICIES } from './gateway-report.ts';
import type { Output } from './operation-table.ts';
import { listPolicies } from './policies.ts';
import type { Gateway } from './running-gateway.ts';

/** Rates are the mean of so long. */
export const RATE_MS = 2 * STEP_MS;

type Rates = Output<'overview'>['rates'];
type Counts = Readonly<Record<keyof Rates, readonly number[]>>;
type Series = Output<'overview'>['without_policy'];

/** Unknown policies are left out: another gateway may still have them, or anyone may have made them up. */
export function trafficIn(
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

export function noTraffic(): Series {
  const zeros = () => new Array<number>(STEPS).fill(0);
  const series = { requests: zeros(), denials: zeros(), would_deny: zeros() };
  return { rates: ratesOf(series), ...series };
}

function addTo(sums: number[], counts: readonly number[]): void {
  for (const [i, count] of counts.entries()) sums[i] = (sums[i] ?? 0) + count;
}

/** Lists policies in file order; if there are too many, those with the most requests. */
export function policiesIn(gateway: Gateway, traffic: ReadonlyMap<string, Series>) {
  const all = listPolicies(gateway).policies;
  const left = all.length - MOST_POLICIES;
  const shown = left <= 0 ? all : busiestOf(all, traffic);
  return {
    policies: shown.map((policy) => ({
      ...policy,
      ...(traffic.get(policy.name) ?? noTraffic()),
    })),
    ...(left > 0 && { policies_left_out: left }),
  };
}

function busiestOf(
  policies: Output<'listPolicies'>['policies'],
  traffic: ReadonlyMap<string, Series>,
) {
  const requestsOf = (name: string) => sumOf(traffic.get(name)?.requests ?? []);
  const measured = policies.map(({ name }) => ({ name, requests: requestsOf(name) }));
  const busiest = measured.sort((a, b) => b.requests - a.requests).slice(0, MOST_POLICIES);
  const names = new Set(busiest.map(({ name }) => name));
  return policies.filter(({ name }) => names.has(name));
}

function ratesOf(counts: Counts): Rates {
  return eachRate((name) => perSecond(counts[name]));
}

export function sumOfRates(all: readonly Rates[]): Rates {
  return eachRate((name) => sumOf(all.map((rates) => rates[name])));
}

function eachRate(rateOf: (name: keyof Rates) => number): Rates {
  return {
    requests: rateOf('requests'),
    denials: rateOf('denials'),
    would_deny: rateOf('would_deny'),
  };
}

function perSecond(counts: readonly number[]): number {
  return (sumOf(counts.slice(-RATE_MS / STEP_MS)) * 1_000) / RATE_MS;
}

export function sumOf(counts: readonly number[]): number {
  return counts.reduce((sum, count) => sum + count, 0);
}
