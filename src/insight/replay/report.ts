/** What `headgate replay` answers: the result of a replay with what the log cannot tell, as plain data for JSON. */
import type { PolicyMode } from '../../core/policy.ts';
import type { PolicySet } from '../../core/policy-set.ts';
import type { MappedField } from '../log-request.ts';
import type { LineCounts } from '../reading/entry-stream.ts';
import { KEY_NAME } from './client-address.ts';
import type { ClientRow } from './client-book.ts';
import { type Counts, newCounts } from './counts.ts';
import { evaluabilityOf, knownIdentities } from './evaluable.ts';
import { notesOn } from './notes.ts';
import { byNewlyAllowed, byNewlyDenied, type Change, type ReplayResult } from './result.ts';

export interface ReplayReport {
  readonly log: LogReport;
  readonly lines: LinesReport;
  readonly requests: RequestsReport;
  readonly policies: readonly PolicyReport[];
  /** The clients denied most. */
  readonly clients: readonly ClientReport[];
  /** Only with `--against`. */
  readonly difference?: DifferenceReport;
  /** What a reader of the numbers must know. */
  readonly notes: readonly string[];
}

export interface MisreadReport {
  /** The name of the log. */
  readonly source: string;
  /** From 1. */
  readonly line: number;
  /** The first field that is not as the format has it. */
  readonly field: string;
  /** The beginning of the line. */
  readonly text: string;
}

/** Times are ISO 8601 in UTC; null without requests. */
export interface LogReport {
  readonly sources: readonly string[];
  readonly format: string;
  readonly from: string | null;
  readonly to: string | null;
}

export interface LinesReport {
  readonly read: number;
  readonly understood: number;
  readonly not_understood: number;
  readonly first_not_understood: readonly MisreadReport[];
  /** Lines without an HTTP request: a handshake that failed, a connection that closed. */
  readonly without_request: number;
  /** Understood lines that came too late to be put in order. They are not decided. */
  readonly late: number;
  readonly out_of_order: number;
}

export interface RequestsReport {
  readonly decided: number;
  readonly denied: number;
  readonly clients: number;
  readonly denied_clients: number;
  /** Not decided, because the log does not say who sent them. */
  readonly without_address: number;
  /** Answered 429 when they were logged. */
  readonly logged_429: number;
  /** By the reason of the decision, as in the log of a gateway. */
  readonly reasons: Readonly<Record<string, number>>;
}

/** Null stands for what the log cannot tell. In shadow mode, denied requests are those that would have been denied. */
interface CountsReport {
  readonly requests: number;
  readonly clients: number;
  readonly denied_requests: number | null;
  readonly denied_clients: number | null;
  readonly first_denial: string | null;
  readonly last_denial: string | null;
  readonly busiest_minute: {
    readonly at: string;
    readonly requests: number;
    readonly denied_requests: number;
  } | null;
  /** Why nothing was evaluated. */
  readonly not_evaluated?: string;
}

export interface PolicyReport extends CountsReport {
  readonly name: string;
  readonly mode: PolicyMode;
  /** Denied requests if all requests of one second came at once. Only if the log leaves that open and it matters. */
  readonly denied_requests_at_once?: number;
  readonly limits: readonly LimitReport[];
}

export interface LimitReport extends CountsReport {
  readonly label: string;
  readonly allows: string;
}

export interface ClientReport {
  readonly client: string;
  readonly requests: number;
  readonly denied_requests: number;
}

export interface DifferenceReport {
  readonly newly_denied_requests: number;
  readonly newly_denied_clients: number;
  readonly newly_allowed_requests: number;
  readonly newly_allowed_clients: number;
  /** By the policy that denies: the new file's, and the old file's. */
  readonly newly_denied: readonly ChangeReport[];
  readonly newly_allowed: readonly ChangeReport[];
  readonly clients_newly_denied: readonly ChangedClientReport[];
  readonly clients_newly_allowed: readonly ChangedClientReport[];
}

export interface ChangeReport {
  readonly policy: string;
  readonly requests: number;
  readonly clients: number;
}

export interface ChangedClientReport {
  readonly client: string;
  readonly requests: number;
  readonly changed_requests: number;
}

export interface ReportOptions {
  readonly policies: PolicySet;
  /** The names of policies that match by host. */
  readonly hostPolicies: ReadonlySet<string>;
  readonly mapping: readonly MappedField[];
  readonly log: { readonly sources: readonly string[]; readonly format: string };
  readonly lines: LineCounts;
  readonly hasDifference: boolean;
  /** Whether clients appear by their addresses. */
  readonly showsAddresses: boolean;
  /** What the reading of the log noticed. */
  readonly notes: readonly string[];
}

export function reportOn(result: ReplayResult, options: ReportOptions): ReplayReport {
  const { lines, log, hasDifference, policies } = options;
  const { clients, facts, reasons } = result;
  const nameOf = options.showsAddresses ? (name: string) => name : numberedClients(result);
  const decided = sum(reasons.values());
  return {
    log: { ...log, from: timeOf(facts.fromMs), to: timeOf(facts.toMs) },
    lines: {
      read: lines.read,
      understood: lines.understood,
      not_understood: lines.misread,
      first_not_understood: lines.firstMisread.map((each) => ({
        ...each,
        source: log.sources[each.source] ?? '',
      })),
      without_request: lines.withoutRequest,
      late: lines.late,
      out_of_order: lines.outOfOrder,
    },
    requests: {
      decided,
      denied: clients.deniedRequests,
      clients: clients.all,
      denied_clients: clients.denied,
      without_address: facts.withoutAddress,
      logged_429: facts.answered429,
      reasons: Object.fromEntries([...reasons].sort()),
    },
    policies: policyReports(result, options),
    clients: clients.mostDenied.map((row) => clientReport(row, nameOf)),
    ...(hasDifference && { difference: differenceReport(result, nameOf) }),
    notes: [...options.notes, ...notesOn(policies, options.mapping, result)],
  };
}

function policyReports(result: ReplayResult, options: ReportOptions): PolicyReport[] {
  const { policies, hostPolicies, mapping } = options;
  const missing = evaluabilityOf(policies.policies, knownIdentities(mapping));
  const missingHost = (name: string) =>
    result.facts.withHost === 0 && hostPolicies.has(name) ? NO_HOST : undefined;
  return policies.policies.map((policy) => {
    const { name, mode, limits, plans } = policy;
    const atOnce = result.deniedAtOnce.get(name);
    const all = [limits, ...plans.values()].flat();
    const reason = missing.policies.get(name) ?? missingHost(name);
    return {
      name,
      mode,
      ...countsReport(result.policies.get(name), reason),
      ...(result.isUncertain && { denied_requests_at_once: atOnce ?? 0 }),
      limits: all.map(({ label, description }) => ({
        label,
        allows: description,
        ...countsReport(result.limits.get(label), reason ?? missing.limits.get(label)),
      })),
    };
  });
}

const NO_HOST = 'the log does not say which host was asked for, and the policy matches by host';

function countsReport(
  counts: Counts = newCounts(),
  notEvaluated: string | undefined,
): CountsReport {
  const isKnown = notEvaluated === undefined;
  return {
    requests: counts.requests,
    clients: counts.clients,
    denied_requests: isKnown ? counts.denied : null,
    denied_clients: isKnown ? counts.deniedClients : null,
    first_denial: timeOf(counts.firstDenialMs),
    last_denial: timeOf(counts.lastDenialMs),
    busiest_minute: busiestMinute(counts),
    ...(isKnown ? {} : { not_evaluated: notEvaluated }),
  };
}

/** The first of equals in time. */
function busiestMinute({ minutes }: Counts): CountsReport['busiest_minute'] {
  let busiest: readonly [minute: number, requests: number, denied: number] | undefined;
  for (const [minute, [requests, denied]] of minutes) {
    const [first = 0, most = 0] = busiest ?? [];
    if (requests > most || (requests === most && minute < first))
      busiest = [minute, requests, denied];
  }
  if (busiest === undefined) return null;
  const [minute, requests, denied] = busiest;
  return { at: new Date(minute * 60_000).toISOString(), requests, denied_requests: denied };
}

function clientReport(row: ClientRow, nameOf: (name: string) => string): ClientReport {
  return { client: nameOf(row.name), requests: row.requests, denied_requests: row.denied };
}

function differenceReport(result: ReplayResult, nameOf: (name: string) => string) {
  const { clients, newlyDenied, newlyAllowed } = result;
  const changed = (rows: readonly ClientRow[], of: (row: ClientRow) => number) =>
    rows.map((row) => ({
      client: nameOf(row.name),
      requests: row.requests,
      changed_requests: of(row),
    }));
  return {
    newly_denied_requests: requestsOf(newlyDenied),
    newly_denied_clients: clients.newlyDenied,
    newly_allowed_requests: requestsOf(newlyAllowed),
    newly_allowed_clients: clients.newlyAllowed,
    newly_denied: changeReports(newlyDenied),
    newly_allowed: changeReports(newlyAllowed),
    clients_newly_denied: changed(clients.mostNewlyDenied, byNewlyDenied),
    clients_newly_allowed: changed(clients.mostNewlyAllowed, byNewlyAllowed),
  };
}

function changeReports(changes: ReadonlyMap<string, Change>): ChangeReport[] {
  return [...changes]
    .map(([policy, change]) => ({ policy, ...change }))
    .sort((a, b) => b.requests - a.requests || (a.policy < b.policy ? -1 : 1));
}

function requestsOf(changes: ReadonlyMap<string, Change>): number {
  return sum([...changes.values()].map(({ requests }) => requests));
}

/** `client 1`, `client 2`: in the order of the lists, so that the same log gives the same names. Keys keep their ids. */
function numberedClients({ clients }: ReplayResult): (name: string) => string {
  const numbers = new Map<string, string>();
  for (const { name } of [
    ...clients.mostDenied,
    ...clients.mostNewlyDenied,
    ...clients.mostNewlyAllowed,
  ]) {
    if (!numbers.has(name)) numbers.set(name, `client ${numbers.size + 1}`);
  }
  return (name) => (name.startsWith(KEY_NAME) ? name : (numbers.get(name) ?? name));
}

function sum(numbers: Iterable<number>): number {
  let total = 0;
  for (const each of numbers) total += each;
  return total;
}

/** Null for an infinite time: nothing happened. */
function timeOf(ms: number): string | null {
  return Number.isFinite(ms) ? new Date(ms).toISOString() : null;
}
