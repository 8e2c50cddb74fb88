/** Finds denied clients and single denials. Every gateway knows its own, so all gateways are queried. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { z } from 'zod';
import { modeOf } from '../core/overrides.ts';
import { isOfMany } from '../core/partition.ts';
import { currentQuota } from '../denials/current-quota.ts';
import {
  type CurrentQuota,
  currentQuotaSchema,
  type DenialReport,
  denialReportSchema,
  reportOf,
  sumReports,
} from '../denials/denial-report.ts';
import type { DeniedClient } from '../denials/denied-clients.ts';
import { isoTime } from '../denials/iso-time.ts';
import { deniedFilter, deniedFilterSchema, matchesFilter } from './denied-filter.ts';
import { listedFields } from './listed-fields.ts';
import type { InputOf } from './operation.ts';
import { OperationError } from './operation-error.ts';
import { endedOverrideOf, overrideReport, overridesOf } from './override-report.ts';
import type { Gateway } from './running-gateway.ts';
import type { DECISION, DenialDetails, DenialList, TOP } from './schemas/denials.ts';

/** A client that was last denied longer ago is not listed. */
const RECENT_MS = 300_000;
/** Most reports that one gateway sends in one reply. */
const MOST_REPORTS = 100;
const SEARCHED_AT_ONCE = 200;

const querySchema = z.discriminatedUnion('about', [
  z.object({
    about: z.literal('top'),
    most: z.int().positive(),
    withinMs: z.number().positive(),
    shadow: z.boolean(),
    filter: deniedFilterSchema.optional(),
  }),
  z.object({ about: z.literal('decision'), id: z.string().max(64) }),
]);
/** What one gateway asks all others. */
type Query = z.output<typeof querySchema>;

const foundSchema = z.object({
  report: denialReportSchema,
  now: currentQuotaSchema.optional(),
  isReset: z.boolean().optional(),
});
type Found = z.output<typeof foundSchema>;

export async function topDenied(
  gateway: Gateway,
  { limit, shadow, filter = '' }: InputOf<typeof TOP> & { readonly filter?: string },
): Promise<DenialList> {
  const query: Query = {
    ...{ about: 'top', most: limit, withinMs: RECENT_MS, shadow },
    ...(filter !== '' && { filter: deniedFilter(filter, gateway) }),
  };
  const { answers, asked } = await gateway.queryAll(query);
  const reports = answers.flatMap(reportsIn);
  const clients = sumReports(reports, limit).map((report) => shownReport(gateway, report));
  return { clients, gateways: { asked, answered: answers.length } };
}

export async function describeDecision(
  gateway: Gateway,
  { id }: InputOf<typeof DECISION>,
): Promise<DenialDetails> {
  const { report, now, isReset } = await findDenial(gateway, id);
  const { overrides, policies } = gateway;
  const { listedClients } = policies.current;
  const names = namesOf(report);
  const inForce = overridesOf(names, overrides);
  // An exemption wins over a block.
  const override = inForce.find(({ access }) => access === 'exempt') ?? inForce[0];
  const ended = override === undefined && endedOverrideOf(names, overrides, listedClients);
  const policy = policies.current.policies.find(({ name }) => name === report.policy);
  return {
    ...shownReport(gateway, report),
    asked_for: id,
    ...(now && { now }),
    ...(isReset && { is_reset: true }),
    ...(policy && { policy_mode: modeOf(policy, overrides.current.modes) }),
    ...(override && { override: overrideReport(override, listedClients) }),
    ...(ended && { ended_override: ended }),
  };
}

/** Adds what the gateways that report denials do not know alike: ids of the policy file, and overrides. */
function shownReport({ overrides, policies }: Gateway, report: DenialReport) {
  const { client, reason } = report;
  const block =
    reason === 'blocked' &&
    overridesOf(namesOf(report), overrides).find(({ access }) => access === 'blocked');
  return {
    ...report,
    ...listedFields(client, policies.current.listedClients),
    ...(block && { until: isoTime(block.untilMs) }),
  };
}

/** Every partition by which an override can name the client of the last request, or the key that was charged. */
function namesOf({ client, counted = client, names, networks }: DenialReport): string[] {
  const all = [client, counted, ...names, ...networks];
  return all.filter((name) => !isOfMany(name));
}

/** Rejects with an OperationError if no gateway remembers the decision. */
export async function deniedBy(gateway: Gateway, id: string): Promise<DenialReport> {
  return (await findDenial(gateway, id)).report;
}

async function findDenial(gateway: Gateway, id: string): Promise<Found> {
  const { answers, asked } = await gateway.queryAll({ about: 'decision', id } satisfies Query);
  for (const answer of answers) {
    const found = foundSchema.safeParse(answer);
    if (found.success) return found.data;
  }
  const silent = asked - answers.length;
  throw new OperationError(
    'not_found',
    silent > 0
      ? `no gateway that answered knows the decision ${id}, and ${silent} of ${asked} did not answer`
      : `no gateway knows the decision ${id}: it was not a denial, or it is forgotten; the log may have it`,
  );
}

/** Leaves out what is not a report. */
function reportsIn(answer: unknown): DenialReport[] {
  if (!Array.isArray(answer)) return [];
  return answer
    .slice(0, MOST_REPORTS)
    .flatMap((each) => denialReportSchema.safeParse(each).data ?? []);
}

/** The reply of this gateway to a query; null for a message that is no query. Never rejects. */
export async function answerQuery(gateway: Gateway, message: unknown): Promise<unknown> {
  const query = querySchema.safeParse(message).data;
  if (query === undefined) return null;
  if (query.about === 'top') return topReports(gateway, query);
  const client = gateway.denied.find(query.id) ?? gateway.wouldBeDenied.find(query.id);
  const report = client && reportOf(client);
  if (report === undefined) return null;
  return { report, now: await quotaNow(gateway, client), isReset: client?.isReset } satisfies Found;
}

async function topReports(
  { denied, wouldBeDenied, policies }: Gateway,
  { most, withinMs, shadow, filter }: Query & { readonly about: 'top' },
): Promise<DenialReport[]> {
  const wanted = Math.min(most, MOST_REPORTS);
  const book = shadow ? wouldBeDenied : denied;
  const clients = book.top(filter === undefined ? wanted : Number.POSITIVE_INFINITY, withinMs);
  const found: DenialReport[] = [];
  for (const [i, client] of clients.entries()) {
    // Checks of other clients must not wait until thousands are searched.
    if (i % SEARCHED_AT_ONCE === SEARCHED_AT_ONCE - 1) await nextTurn();
    const report = reportOf(client);
    if (report === undefined) continue;
    if (filter === undefined || matchesFilter(filter, report, policies.current.listedClients))
      found.push(report);
    if (found.length === wanted) break;
  }
  return found;
}

/** Undefined also if the store is unavailable: the denial is known all the same. */
async function quotaNow(
  { policies, reader }: Gateway,
  client: DeniedClient | undefined,
): Promise<CurrentQuota | undefined> {
  const binding = client?.last?.decision.binding;
  try {
    return binding && (await currentQuota(binding, policies.current.policies, reader));
  } catch {
    return undefined;
  }
}
