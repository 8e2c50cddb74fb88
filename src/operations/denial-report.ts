/** What is told of a client that is denied, by one gateway and by all of them together. */

import type { BindingQuota } from '../core/decision.ts';
import { partitionOf } from '../core/descriptor.ts';
import type { QuotaReader } from '../core/store.ts';
import type { DeniedClient } from '../telemetry/denied-clients.ts';

export interface DenialReport {
  /** Of the last denial. */
  readonly decision_id: string;
  readonly policy: string;
  readonly reason: string;
  readonly mode: string;
  readonly limit?: string | undefined;
  /** The limit in words. */
  readonly allows?: string | undefined;
  readonly client: string;
  /** What it came as last, where that is made up: a key that nobody lists. */
  readonly came_as?: string | undefined;
  readonly identity: string;
  /** Whose share was used up. */
  readonly counted?: string | undefined;
  /** Under which key of the store. */
  readonly key?: string | undefined;
  readonly dialect?: string | undefined;
  /** Since `since`, by all gateways. */
  readonly denials: number;
  readonly since: string;
  readonly last: string;
  /** When a request would have been admitted, by the last denial; absent for what was not counted. */
  readonly until?: string | undefined;
}

/** How the limit stands now. */
export interface StandingNow {
  readonly remaining: number;
  readonly retry_after_ms: number;
  readonly reset_after_ms: number;
}

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
      until: iso(binding.nowMs + binding.state.retryAfterMs),
    }),
    ...(answered && { dialect: answered.dialect }),
    denials: count,
    since: iso(sinceMs),
    last: iso(lastMs),
  };
}

/** Rejects with a StoreError. */
export async function standingNow(
  { limit, key }: BindingQuota,
  reader: QuotaReader,
): Promise<StandingNow | undefined> {
  const { states } = await reader.peek([{ key, quota: limit.quota, cost: limit.cost }]);
  const [state] = states;
  return (
    state && {
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

function iso(ms: number): string {
  return new Date(ms).toISOString();
}
