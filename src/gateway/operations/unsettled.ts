/** Policies that reserve units while no gateway gets the outcome of a request. */
import type { GatewayReport } from './gateway-report.ts';
import { reportsOfAll } from './gateway-report.ts';
import type { Gateway } from './running-gateway.ts';

/** Asks other gateways only if this one misses outcomes: they may get them instead. Never rejects. */
export async function unsettledPolicies(gateway: Gateway): Promise<string[]> {
  const { settlements } = gateway.status;
  if (settlements.overdue().length === 0) return [];
  const { reports } = await reportsOfAll(gateway);
  for (const { settlements: theirs } of reports) {
    for (const { policy, lastMs } of theirs?.latest ?? []) settlements.heard(policy, lastMs);
  }
  return stillReserving(
    gateway,
    settlements.overdue().map(({ policy }) => policy),
  );
}

/** As above, from reports that are there already. */
export function unsettledIn(gateway: Gateway, reports: readonly GatewayReport[]): string[] {
  const latest = new Map<string, number>();
  for (const { policy, lastMs } of reports.flatMap((each) => each.settlements?.latest ?? [])) {
    latest.set(policy, Math.max(latest.get(policy) ?? 0, lastMs));
  }
  const overdue = reports
    .flatMap((each) => each.settlements?.overdue ?? [])
    .filter(({ policy, sinceMs }) => (latest.get(policy) ?? 0) < sinceMs)
    .map(({ policy }) => policy);
  return stillReserving(gateway, [...new Set(overdue)]);
}

/** A reloaded file may have changed them. */
function stillReserving({ policies }: Gateway, names: readonly string[]): string[] {
  const settling = policies.current.policies.filter(({ settles }) => settles);
  return names.filter((name) => settling.some((policy) => policy.name === name)).sort();
}
