/** Policies that reserve units while no gateway gets the outcome of a request. */
import { type GatewayReport, reportsOfAll } from './gateway-report.ts';
import type { Gateway } from './running-gateway.ts';

/** Asks other gateways only if this one misses outcomes: they may get them instead. Never rejects. */
export async function unsettledPolicies(gateway: Gateway): Promise<string[]> {
  const { settlements } = gateway.status;
  if (settlements.overdue().length === 0) return [];
  const { reports } = await reportsOfAll(gateway);
  for (const { settlements: theirs } of reports) {
    for (const { policy, lastMs } of theirs?.latest ?? []) settlements.heard(policy, lastMs);
  }
  // Its own report may be missing: without Redis nobody answers.
  const own = { settlements: { overdue: [...settlements.overdue()], latest: [] } };
  return unsettledIn(gateway, [...reports, own]);
}

/** As above, from reports that are there already. */
export function unsettledIn(
  gateway: Gateway,
  reports: readonly Pick<GatewayReport, 'settlements'>[],
): string[] {
  const latest = reports.flatMap((each) => each.settlements?.latest ?? []);
  const overdue = reports
    .flatMap((each) => each.settlements?.overdue ?? [])
    .filter(({ policy, sinceMs }) =>
      latest.every((each) => each.policy !== policy || each.lastMs < sinceMs),
    );
  // A reloaded file may charge nothing afterwards.
  return gateway.policies.current.policies
    .filter(({ name, settles }) => settles && overdue.some(({ policy }) => policy === name))
    .map(({ name }) => name)
    .sort();
}
