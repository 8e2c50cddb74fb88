/** Queries between gateways about denials, and the replies. Every gateway knows its own denials. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { z } from 'zod';
import { partitionOf } from '../core/counting/descriptor.ts';
import {
  type CurrentQuota,
  currentQuotaSchema,
  type DenialReport,
  denialReportSchema,
  laterSchema,
  reportOf,
  runReport,
} from '../denials/denial-report.ts';
import type { DenialRun } from '../denials/denial-run.ts';
import type { DeniedClient, FoundDenial } from '../denials/denied-clients.ts';
import { isoTime } from '../denials/iso-time.ts';
import { currentQuota } from './current-limit.ts';
import { deniedFilterSchema, matchesFilter } from './denied-filter.ts';
import { fileNow, isStillListed } from './listed-report.ts';
import type { Gateway } from './running-gateway.ts';

/** Most reports that one gateway sends in one reply. */
export const MOST_REPORTS = 100;
const SEARCHED_AT_ONCE = 200;
const partition = z.string().max(64);

const querySchema = z.discriminatedUnion('about', [
  z.object({
    about: z.literal('top'),
    most: z.int().positive(),
    withinMs: z.number().positive(),
    shadow: z.boolean(),
    filter: deniedFilterSchema.optional(),
  }),
  z.object({ about: z.literal('decision'), id: z.string().max(64) }),
  z.object({ about: z.literal('client'), names: z.array(partition).max(100) }),
]);
export type Query = z.output<typeof querySchema>;

const id = denialReportSchema.shape.decision_id;

export const foundSchema = z.object({
  report: denialReportSchema,
  now: currentQuotaSchema.optional(),
  isReset: z.boolean().optional(),
  later: laterSchema.optional(),
});
export type Found = z.output<typeof foundSchema>;

/** The gateway that gave the id no longer keeps that denial. */
export const forgottenSchema = z.object({
  forgotten: z.object({ client: partition, latest: id, last: z.iso.datetime() }),
});
export type Forgotten = z.output<typeof forgottenSchema>['forgotten'];

export function reportsIn(reply: unknown): DenialReport[] {
  if (!Array.isArray(reply)) return [];
  return reply
    .slice(0, MOST_REPORTS)
    .flatMap((each) => denialReportSchema.safeParse(each).data ?? []);
}

/** The reply of this gateway to a query; null for a message that is no query. Never rejects. */
export async function replyTo(gateway: Gateway, message: unknown): Promise<unknown> {
  const query = querySchema.safeParse(message).data;
  if (query === undefined) return null;
  const report = (client: DeniedClient) => withListing(gateway, client.latest, reportOf(client));
  switch (query.about) {
    case 'top':
      return topReports(gateway, query);
    case 'client':
      return reportsOfClient(gateway, new Set(query.names)).flatMap(report);
    case 'decision': {
      const found = gateway.denied.find(query.id) ?? gateway.wouldBeDenied.find(query.id);
      return found === undefined ? null : replyOnDecision(gateway, found);
    }
  }
}

async function topReports(
  gateway: Gateway,
  { most, withinMs, shadow, filter }: Query & { readonly about: 'top' },
): Promise<DenialReport[]> {
  const { listedClients } = gateway.policies.current;
  const wanted = Math.min(most, MOST_REPORTS);
  const book = shadow ? gateway.wouldBeDenied : gateway.denied;
  const clients = book.top(filter === undefined ? wanted : Number.POSITIVE_INFINITY, withinMs);
  const found: DenialReport[] = [];
  for (const [i, client] of clients.entries()) {
    // Checks of other clients must not wait until thousands are searched.
    if (i % SEARCHED_AT_ONCE === SEARCHED_AT_ONCE - 1) await nextTurn();
    const report = reportOf(client);
    const isWanted = report && (!filter || matchesFilter(filter, report, listedClients));
    if (isWanted) found.push(...withListing(gateway, client.latest, report));
    if (found.length === wanted) break;
  }
  return found;
}

async function replyOnDecision(gateway: Gateway, { client, run }: FoundDenial) {
  const { latest } = client;
  const lastId = latest?.recorded.denial.id ?? '';
  const last = isoTime(Math.max(0, client.lastMs));
  if (run === undefined) {
    const forgotten: Forgotten = { client: client.client, latest: lastId, last };
    return latest && { forgotten };
  }
  const later = (latest?.last ?? 0) - run.last;
  const [report] = withListing(gateway, run, runReport(client, run));
  const { entry } = run.recorded.denial.accessBy ?? {};
  const isGone = entry !== undefined && report?.is_listed === false;
  return (
    report &&
    ({
      report: {
        ...report,
        ...(isGone && { file_now: fileNow(entry, gateway.policies.current, gateway.now()) }),
      },
      now: await quotaNow(gateway, run),
      isReset: run.isReset,
      ...(later > 0 && { later: { decision_id: lastId, denials: later, last } }),
    } satisfies Found)
  );
}

function withListing(
  { policies }: Gateway,
  run: DenialRun | undefined,
  report: DenialReport | undefined,
): DenialReport[] {
  if (report === undefined) return [];
  if (report.listed_at === undefined) return [report];
  const entry = run?.recorded.denial.accessBy?.entry;
  return [{ ...report, is_listed: isStillListed(entry, policies.current) }];
}

/** The client that was denied last comes first. */
function reportsOfClient({ denied }: Gateway, names: ReadonlySet<string>): DeniedClient[] {
  const found: DeniedClient[] = [];
  for (const client of denied.all()) {
    if (isNamed(client, names) && found.push(client) === MOST_REPORTS) break;
  }
  return found;
}

/** There may be thousands of clients, so nothing is built for those that are not named. */
function isNamed({ client, latest }: DeniedClient, names: ReadonlySet<string>): boolean {
  if (latest === undefined) return false;
  const { decision, denial } = latest.recorded;
  const { daily, long } = denial.address;
  return (
    names.has(client) ||
    names.has(denial.client) ||
    names.has(daily.current) ||
    names.has(daily.previous ?? '') ||
    names.has(long?.current ?? '') ||
    (decision.binding !== undefined && names.has(partitionOf(decision.binding.key)))
  );
}

/** Undefined also if the store is unavailable: the denial is known all the same. */
async function quotaNow(
  { policies, reader }: Gateway,
  { recorded }: DenialRun,
): Promise<CurrentQuota | undefined> {
  const { binding } = recorded.decision;
  try {
    return binding && (await currentQuota(binding, policies.current.policies, reader));
  } catch {
    return undefined;
  }
}
