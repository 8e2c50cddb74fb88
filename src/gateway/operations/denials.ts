/** Finds denied clients and single denials. Every gateway knows its own, so all gateways are queried. */

import { isInForce } from '../core/identity/access-lists.ts';
import { isOfMany } from '../core/identity/partition.ts';
import { modeOf } from '../core/overrides.ts';
import { type DenialReport, sumReports } from '../denials/denial-report.ts';
import { isoTime } from '../denials/iso-time.ts';
import type { Override } from '../stores/overrides/override.ts';
import {
  type Forgotten,
  type Found,
  forgottenSchema,
  foundSchema,
  MOST_REPORTS,
  type Query,
  reportsIn,
} from './denial-queries.ts';
import { deniedFilter } from './denied-filter.ts';
import { blockAt, listedReport, unblockCommand } from './listed-report.ts';
import { OperationError } from './operation-error.ts';
import type { Input, Output } from './operation-table.ts';
import { endedOverrideOf, listedFields, overrideReport, overridesOf } from './override-report.ts';
import type { Gateway } from './running-gateway.ts';
import { isKeyBlocked } from './stored-client.ts';
import { clientText } from './texts.ts';

/** A client that was last denied longer ago is not listed. */
const RECENT_MS = 300_000;

export async function topDenied(
  gateway: Gateway,
  { limit, shadow, filter = '' }: Input<'top'> & { readonly filter?: string },
): Promise<Output<'top'>> {
  const query: Query = {
    ...{ about: 'top', most: limit, withinMs: RECENT_MS, shadow },
    ...(filter !== '' && { filter: await deniedFilter(filter, gateway) }),
  };
  return listed(gateway, query, limit);
}

/** The denials that all gateways remember of the client with these partitions, the last one first. */
export async function denialsOf(
  gateway: Gateway,
  partitions: readonly string[],
): Promise<Output<'top'>> {
  const names = partitions.filter((name) => !isOfMany(name));
  const list = await listed(gateway, { about: 'client', names }, MOST_REPORTS);
  return { ...list, clients: list.clients.sort((a, b) => (a.last < b.last ? 1 : -1)) };
}

async function listed(gateway: Gateway, query: Query, most: number): Promise<Output<'top'>> {
  const { replies, queried: asked } = await gateway.queryAll(query);
  const reports = sumReports(replies.flatMap(reportsIn), most);
  const clients = reports.map((report) => shownReport(gateway, report));
  return { clients, gateways: { asked, answered: replies.length } };
}

export async function describeDecision(
  gateway: Gateway,
  { id }: Input<'decision'>,
): Promise<Output<'decision'>> {
  const found = await findDenial(gateway, id);
  if (!('report' in found)) throw noLongerKept(id, found);
  const { report, now, isReset, later } = found;
  const { overrides, policies } = gateway;
  const { listedClients } = policies.current;
  const names = namesOf(report);
  const inForce = overridesOf(names, overrides);
  // An exemption wins over a block.
  const override = inForce.find(({ access }) => access === 'exempt') ?? inForce[0];
  const ended = override === undefined && endedOverrideOf(names, overrides, listedClients);
  const policy = policies.current.policies.find(({ name }) => name === report.policy);
  return {
    ...shownReport(gateway, report, await isKeyBlocked(gateway, report.blocked_key)),
    asked_for: id,
    ...(now && { now }),
    ...(isReset && { is_reset: true }),
    ...(later && { later }),
    ...(policy && { policy_mode: modeOf(policy, overrides.current.modes) }),
    ...(override && {
      override: overrideReport(override, listedClients),
      overrides: inForce.map((each) => overrideReport(each, listedClients)),
    }),
    ...(ended && { ended_override: ended }),
  };
}

/** Adds what the gateways that report denials do not know alike: the policy file, and overrides. */
function shownReport(gateway: Gateway, report: DenialReport, isKeyBlocked?: boolean) {
  const { client, reason } = report;
  return {
    ...report,
    ...listedFields(client, gateway.policies.current.listedClients),
    ...(reason === 'blocked' && blockFields(gateway, report, isKeyBlocked)),
  };
}

/** Every partition by which an override can name the client of the last request, or the key that was charged. */
function namesOf({ client, counted = client, names, networks }: DenialReport): string[] {
  const all = [client, counted, ...names, ...networks];
  return all.filter((name) => !isOfMany(name));
}

/** Rejects with an OperationError if no gateway remembers the client of the decision. */
export async function deniedBy(gateway: Gateway, id: string): Promise<DenialReport | Forgotten> {
  const found = await findDenial(gateway, id);
  return 'report' in found ? found.report : found;
}

async function findDenial(gateway: Gateway, id: string): Promise<Found | Forgotten> {
  const { replies, queried } = await gateway.queryAll({ about: 'decision', id } satisfies Query);
  for (const reply of replies) {
    const found = foundSchema.safeParse(reply);
    if (found.success) return found.data;
    const { data } = forgottenSchema.safeParse(reply);
    if (data !== undefined) return data.forgotten;
  }
  const silent = queried - replies.length;
  throw new OperationError(
    'not_found',
    silent > 0
      ? `no gateway that answered knows the decision ${id}, and ${silent} of ${queried} did not answer`
      : `no gateway knows the decision ${id}: it was not a denial, its client is forgotten, or the gateway was restarted; the log may have it`,
  );
}

export function noLongerKept(id: string, { client, latest }: Forgotten): OperationError {
  return new OperationError(
    'not_found',
    `the decision ${id} is no longer kept, because its client ${client} was denied often since; the log may have it. The last denial of the client is ${latest}.`,
  );
}

function blockFields(gateway: Gateway, report: DenialReport, isKeyBlocked: boolean | undefined) {
  const { overrides, policies, now, status } = gateway;
  const { listed_at: place, is_listed: isListed, blocked_key: key } = report;
  const names = namesOf(report);
  const keyEndMs = key !== undefined && isKeyBlocked !== false ? Number.POSITIVE_INFINITY : 0;
  const entry = isListed ? blockAt(place, policies.current) : undefined;
  const listed =
    entry && listedReport('block', entry, isInForce(entry, now()) ? undefined : 'it expired');
  const blocks = overridesOf(names, overrides).filter(({ access }) => access === 'blocked');
  const made = overridesOf(names, { list: () => overrides.known() }).find(
    ({ access, sinceMs }) => access === 'blocked' && isoTime(sinceMs) === report.overridden,
  );
  const lastMs = Date.parse(report.last);
  const others = blocks.filter(
    (each) =>
      each.sinceMs <= lastMs && (each.client !== made?.client || each.sinceMs !== made.sinceMs),
  );
  // The client is denied until the last of them ends.
  const endMs = Math.max(entry?.expiresMs ?? 0, keyEndMs, ...blocks.map(({ untilMs }) => untilMs));
  const causes = [
    ...(report.blocked_by === 'override' ? [operatorText(made)] : []),
    ...(key === undefined ? [] : [keyText(key, status.storeKind, isKeyBlocked)]),
    ...(place === undefined ? [] : [listed?.what ?? goneText(report)]),
    ...others.map(
      (each) =>
        `${each.by} also blocks ${clientText({ ...each, ...listedFields(each.client, policies.current.listedClients) })}, ${JSON.stringify(each.reason)}`,
    ),
  ];
  return {
    ...(listed && { listed }),
    ...(endMs > 0 && Number.isFinite(endMs) && { until: isoTime(endMs) }),
    cause: causes.join('; ') || 'the gateway that denied the request does not say what blocked it',
  };
}

/** `isBlocked`: whether it still is, if that is known. */
function keyText(id: string, storeKind: 'memory' | 'redis', isBlocked: boolean | undefined) {
  const where = `${storeKind === 'redis' ? 'in Redis' : 'in this gateway'} (headgate keys)`;
  if (isBlocked === undefined) return `the key was blocked ${where}`;
  return isBlocked
    ? `the key is blocked ${where}; still blocked: ${unblockCommand(id)}`
    : `the key was blocked ${where}; it has been unblocked or revoked since`;
}

function goneText({ listed_at: place, file_now: now }: DenialReport): string {
  const what = `an entry at ${place} blocked the client; the file has changed since`;
  return now === undefined ? what : `${what}: ${now}`;
}

function operatorText(made: Pick<Override, 'by' | 'reason'> | undefined): string {
  return made === undefined
    ? 'an operator blocked the client; that override has ended or was replaced since'
    : `${made.by} blocked the client, ${JSON.stringify(made.reason)}`;
}
