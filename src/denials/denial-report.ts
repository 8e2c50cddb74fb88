/** What is told of a client that is denied, by one gateway and by all of them together. */
import { z } from 'zod';
import type { BindingQuota, Denial } from '../core/decision.ts';
import { partitionOf } from '../core/descriptor.ts';
import { pseudonymsOf } from '../core/partition.ts';
import type { Policy } from '../core/policy.ts';
import type { QuotaReader } from '../core/store.ts';
import type { DeniedClient } from './denied-clients.ts';
import { isoTime } from './iso-time.ts';

/** Of another gateway, or of whoever may publish as one: it is shown in terminals. */
const text = z
  .string()
  .max(1_024)
  .regex(/^\P{Cc}*$/u);
const count = z.number().min(0);
const names = z.array(text).max(100);

export const denialReportSchema = z.object({
  /** Of the last denial. */
  decision_id: text,
  policy: text,
  reason: text,
  mode: text,
  limit: text.optional(),
  /** The limit in words. */
  allows: text.optional(),
  client: text,
  /** What it came as last, where that is made up: a key that nobody lists. */
  came_as: text.optional(),
  identity: text,
  /** Whose share was used up. */
  counted: text.optional(),
  /** Under which key of the store. */
  key: text.optional(),
  dialect: text.optional(),
  /** Since `since`, by all gateways. */
  denials: count,
  since: z.iso.datetime(),
  last: z.iso.datetime(),
  /** When a request would have been admitted, by the last denial; absent for what was not counted. */
  until: z.iso.datetime().optional(),
  /** All that its last request was known by, and the wider IPv6 networks that it came from. */
  names,
  networks: names,
});
export type DenialReport = Readonly<z.output<typeof denialReportSchema>>;

/** The limit as it is now, and how it stands. */
export const standingNowSchema = z.object({
  /** In words. */
  allows: text,
  remaining: count,
  retry_after_ms: count,
  reset_after_ms: count,
});
export type StandingNow = Readonly<z.output<typeof standingNowSchema>>;

/** Undefined while a first denial is being answered. */
export function reportOf({
  client,
  count,
  sinceMs,
  lastMs,
  last,
}: DeniedClient): DenialReport | undefined {
  if (last === undefined) return undefined;
  const { decision, denial, answered } = last;
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
      until: isoTime(binding.nowMs + binding.state.retryAfterMs),
    }),
    ...(answered && { dialect: answered.dialect }),
    denials: count,
    since: isoTime(sinceMs),
    last: isoTime(lastMs),
    ...namesOf(denial),
  };
}

function namesOf({ client, address }: Denial) {
  const own = pseudonymsOf({ ...address, wider: [] });
  return {
    names: [...new Set([client, ...own])],
    networks: address.wider.flatMap(pseudonymsOf),
  };
}

/** Undefined for a limit that is not there any more. Rejects with a StoreError. */
export async function standingNow(
  { limit: denied, key }: BindingQuota,
  policies: readonly Policy[],
  reader: QuotaReader,
): Promise<StandingNow | undefined> {
  const limits = policies.flatMap((policy) => [policy.limits, ...policy.plans.values()].flat());
  const counted = limits.flatMap((limit) => [limit, limit.unverified ?? limit]);
  const limit = counted
    .flatMap((each) => [each, ...each.wider])
    .find(({ label, keySuffix }) => label === denied.label && keySuffix === denied.keySuffix);
  if (limit === undefined) return undefined;
  const { states } = await reader.peek([{ key, quota: limit.quota, cost: limit.cost }]);
  const [state] = states;
  return (
    state && {
      allows: limit.description,
      remaining: state.remaining,
      retry_after_ms: state.retryAfterMs,
      reset_after_ms: state.resetAfterMs,
    }
  );
}

/** Those of all gateways, one for each client and policy, the most often denied first. */
export function together(reports: readonly DenialReport[], most: number): DenialReport[] {
  const byClient = new Map<string, DenialReport>();
  for (const report of reports) {
    const name = `${report.client} ${report.policy} ${report.reason}`;
    const known = byClient.get(name);
    byClient.set(name, known === undefined ? report : sum(known, report));
  }
  return [...byClient.values()].sort((a, b) => b.denials - a.denials).slice(0, most);
}

/** ISO 8601 in UTC sorts as text. */
function sum(a: DenialReport, b: DenialReport): DenialReport {
  const later = a.last < b.last ? b : a;
  return {
    ...later,
    denials: a.denials + b.denials,
    since: a.since < b.since ? a.since : b.since,
  };
}
