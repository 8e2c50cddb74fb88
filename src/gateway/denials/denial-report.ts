/** Reports a denied client: the part of one gateway, and the sum over all gateways. */
import { z } from 'zod';
import type { Denial } from '../core/counting/decision.ts';
import { partitionOf } from '../core/counting/descriptor.ts';
import { pseudonymsOf } from '../core/identity/partition.ts';
import { WITHOUT_CONTROLS } from '../core/printable.ts';
import type { DenialRun } from './denial-run.ts';
import type { DeniedClient } from './denied-clients.ts';
import { isoTime } from './iso-time.ts';

/** Anyone who can publish in Redis can pose as a gateway, and operators see this text in a terminal. */
const text = z.string().max(1_024).regex(WITHOUT_CONTROLS);
const count = z.int().min(0);
const names = z.array(text).max(100);

export const denialReportSchema = z.object({
  decision_id: text.describe('Id of the last of these denials.'),
  policy: text,
  reason: text,
  mode: text,
  client: text,
  came_as: text
    .describe('The unlisted API key that the client sent last. Such keys can be invented.')
    .optional(),
  identity: text,
  limit: text.optional(),
  allows: text.describe('The limit in words.').optional(),
  counted: text.describe('The partition whose quota is used up.').optional(),
  key: text.describe('The store key of that quota.').optional(),
  dialect: text.optional(),
  denials: count.describe(
    'How many there were since `since`. A list counts those of all gateways.',
  ),
  since: z.iso.datetime(),
  last: z.iso.datetime(),
  until: z.iso
    .datetime()
    .describe(
      'If a limit denied the client: when the next request is allowed, as computed at the last denial; absent if the request costs more than the limit, which then never allows it. If the client is blocked: when the last block ends; absent if none ends or the client is no longer blocked.',
    )
    .optional(),
  blocked_by: z
    .enum(['policy_file', 'key', 'override'])
    .describe(
      'What blocked the client: an entry of `block`, its key in the store (`headgate keys`), or an override.',
    )
    .optional(),
  listed_at: text
    .describe('File and line of the entry of `block` that names the client.')
    .optional(),
  blocked_key: text.describe('If its key in the store is blocked: the id of that key.').optional(),
  is_listed: z
    .boolean()
    .describe('false: the file has changed since, and that entry is gone or elsewhere.')
    .optional(),
  file_now: text.describe('If so: what the file says now, in words.').optional(),
  overridden: z.iso.datetime().describe('When the operator blocked the client.').optional(),
  /** Every partition that stands for the client of the last request alone. */
  names,
  /** The wider IPv6 networks of that client. */
  networks: names,
});
export type DenialReport = Readonly<z.output<typeof denialReportSchema>>;

export const laterSchema = z.object({
  decision_id: text.describe('Id of the last of them.'),
  denials: count,
  last: z.iso.datetime(),
});

export const currentQuotaSchema = z.object({
  allows: text,
  remaining: count,
  /** Absent if no request is ever allowed. */
  retry_after_ms: count.optional(),
  reset_after_ms: count,
});
export type CurrentQuota = Readonly<z.output<typeof currentQuotaSchema>>;

/** All denials of a client, by the last of them. Undefined while the gateway is still answering the first. */
export function reportOf(client: DeniedClient): DenialReport | undefined {
  const { latest, count, sinceMs } = client;
  return latest && { ...runReport(client, latest), denials: count, since: isoTime(sinceMs) };
}

export function runReport({ client }: DeniedClient, run: DenialRun): DenialReport {
  const { decision, denial, answered } = run.recorded;
  const { policy, reason, mode, binding } = decision;
  return {
    decision_id: denial.id,
    policy,
    reason,
    mode,
    client,
    ...(denial.client !== client && { came_as: denial.client }),
    identity: denial.identity,
    ...(binding && {
      limit: binding.limit.label,
      allows: binding.limit.description,
      counted: partitionOf(binding.key),
      key: binding.key,
      ...(!binding.isNeverMet && { until: isoTime(binding.nowMs + binding.state.retryAfterMs) }),
    }),
    ...(answered && { dialect: answered.dialect }),
    denials: run.last - run.first + 1,
    since: isoTime(run.sinceMs),
    last: isoTime(run.lastMs),
    ...blockOf(denial),
    ...namesOf(denial),
  };
}

type BlockFields = Pick<DenialReport, 'blocked_by' | 'blocked_key' | 'listed_at' | 'overridden'>;

/** What blocked the client; empty for a client that was denied for another reason. */
export function blockOf({ accessBy }: Denial): Partial<BlockFields> {
  if (accessBy?.access !== 'blocked') return {};
  const { entry, isOverride, overriddenMs } = accessBy;
  const inStore = entry?.isInStore ? entry.key : undefined;
  return {
    blocked_by: isOverride ? 'override' : inStore === undefined ? 'policy_file' : 'key',
    ...(inStore !== undefined && { blocked_key: inStore }),
    ...(entry?.place !== undefined && { listed_at: entry.place }),
    ...(overriddenMs !== undefined && { overridden: isoTime(overriddenMs) }),
  };
}

function namesOf({ client, address }: Denial) {
  const own = pseudonymsOf({ ...address, wider: [] });
  return {
    names: [...new Set([client, ...own])],
    networks: address.wider.flatMap(pseudonymsOf),
  };
}

/** Adds up the reports of several gateways: one report for each client, policy and reason, most denials first. */
export function sumReports(reports: readonly DenialReport[], most: number): DenialReport[] {
  const byClient = new Map<string, DenialReport>();
  for (const report of reports) {
    const name = `${report.client} ${report.policy} ${report.reason}`;
    const known = byClient.get(name);
    byClient.set(name, known === undefined ? report : sumOf(known, report));
  }
  return [...byClient.values()].sort((a, b) => b.denials - a.denials).slice(0, most);
}

/** Compares times as text, which works for ISO 8601 in UTC. */
function sumOf(a: DenialReport, b: DenialReport): DenialReport {
  const later = a.last < b.last ? b : a;
  return {
    ...later,
    denials: Math.min(a.denials + b.denials, Number.MAX_SAFE_INTEGER),
    since: a.since < b.since ? a.since : b.since,
  };
}
