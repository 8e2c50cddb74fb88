/** The report of a replay, as JSON has it. Times are ISO 8601 in UTC. Null stands for what the log cannot tell. */
import type { LineCounts } from '../reading/entry-stream.ts';
import { KEY_NAME } from './client-address.ts';
import type { ClientRow } from './client-book.ts';
import { evaluabilityOf } from './evaluable.ts';
import { limitRows } from './limit-rows.ts';
import { maskAddresses } from './mask-addresses.ts';
import { notesOn, type ReplayedPolicies } from './notes.ts';
import { type Change, type Counts, MINUTE_MS, type ReplayResult } from './result.ts';
import { Counter } from './tally.ts';

export interface ReportOptions extends ReplayedPolicies {
  readonly log: { readonly sources: readonly string[]; readonly format: string };
  readonly lines: LineCounts;
  readonly hasDifference: boolean;
  readonly showsAddresses: boolean;
  readonly notes: readonly string[];
}

export type ReplayReport = ReturnType<typeof reportOn>;
export type PolicyReport = ReplayReport['policies'][number];
export type LimitReport = PolicyReport['limits'][number];
export type RefusalReport = ReplayReport['refused'][number];
export type CountsReport = ReturnType<typeof countsReport>;
export type ClientReport = ReturnType<typeof clientReport>;
export type DifferenceReport = ReturnType<typeof differenceReport>;
export type ChangeReport = DifferenceReport['newly_denied'][number];
export type ChangedClientReport = DifferenceReport['clients_newly_denied'][number];

export function reportOn(result: ReplayResult, options: ReportOptions) {
  const { lines, log, hasDifference, showsAddresses } = options;
  const { clients, facts, reasons, refusals } = result;
  const nameOf = showsAddresses ? (name: string) => name : numberedClients(result);
  return {
    log: { ...log, from: timeOf(facts.fromMs), to: timeOf(facts.toMs) },
    lines: {
      read: lines.read,
      understood: lines.understood,
      not_understood: lines.misread,
      first_not_understood: lines.firstMisread.map((each) => ({
        ...each,
        text: showsAddresses ? each.text : maskAddresses(each.text),
        source: log.sources[each.source] ?? '',
      })),
      without_request: lines.withoutRequest,
      late: lines.late,
      out_of_order: lines.outOfOrder,
    },
    requests: {
      decided: sum(reasons.values()),
      denied: clients.deniedRequests,
      clients: clients.all,
      denied_clients: clients.denied.count,
      denied_with_shadow: clients.deniedRequestsWithShadow,
      denied_clients_with_shadow: clients.deniedWithShadow.count,
      without_address: facts.withoutAddress,
      logged_429: facts.answered429,
      reasons: Object.fromEntries([...reasons].sort()),
    },
    policies: policyReports(result, options),
    /** Requests that were denied before a policy was looked at. */
    refused: [...refusals].sort().map(([reason, counts]) => ({ reason, ...countsReport(counts) })),
    clients: clients.denied.most.map((row) => clientReport(row, nameOf)),
    ...(hasDifference && { difference: differenceReport(result, nameOf) }),
    notes: [...options.notes, ...notesOn(result, options)],
  };
}

function policyReports(result: ReplayResult, options: ReportOptions) {
  const { policies, hostPolicies, mapping } = options;
  const missing = evaluabilityOf(policies.policies, mapping);
  const missingHost = (name: string) =>
    result.facts.withHost === 0 && hostPolicies.has(name) ? NO_HOST : undefined;
  return policies.policies.map((policy) => {
    const { name, mode } = policy;
    const reason = missing.policies.get(name) ?? missingHost(name);
    return {
      name,
      mode,
      ...countsReport(result.policies.get(name), reason),
      ...(result.isUncertain && {
        denied_requests_at_once: result.deniedAtOnce.get(name) ?? 0,
      }),
      limits: limitRows(policy).flatMap(({ key, isImplied, plan, limit, allows }) => {
        const counts = result.limits.get(key);
        if (isImplied && (counts?.denied ?? 0) === 0) return [];
        return {
          label: limit.label,
          ...(plan !== undefined && { plan }),
          allows,
          ...countsReport(counts, reason ?? missing.limits.get(limit)),
        };
      }),
    };
  });
}

const NO_HOST = 'the log does not say which host was asked for, and the policy matches by host';

function countsReport(counts: Counts = new Counter(), notEvaluated?: string) {
  const isKnown = notEvaluated === undefined;
  return {
    requests: counts.requests,
    clients: counts.clients,
    denied_requests: isKnown ? counts.denied : null,
    denied_clients: isKnown ? counts.deniedClients : null,
    first_denial: timeOf(counts.firstDenialMs),
    last_denial: timeOf(counts.lastDenialMs),
    busiest_minute: busiestMinute(counts),
    ...(!isKnown && { not_evaluated: notEvaluated }),
  };
}

function busiestMinute({ minutes }: Counts) {
  const [busiest] = [...minutes].sort(([a, [first]], [b, [second]]) => second - first || a - b);
  if (busiest === undefined) return null;
  const [minute, [requests, denied]] = busiest;
  return { at: new Date(minute * MINUTE_MS).toISOString(), requests, denied_requests: denied };
}

function clientReport(row: ClientRow, nameOf: (name: string) => string) {
  return { client: nameOf(row.name), requests: row.requests, denied_requests: row.denied };
}

function differenceReport(result: ReplayResult, nameOf: (name: string) => string) {
  const { clients, newlyDenied, newlyAllowed } = result;
  const changed = (denials: 'newlyDenied' | 'newlyAllowed') =>
    clients[denials].most.map((row) => ({
      client: nameOf(row.name),
      requests: row.requests,
      changed_requests: row[denials],
    }));
  return {
    newly_denied_requests: requestsOf(newlyDenied),
    newly_denied_clients: clients.newlyDenied.count,
    newly_allowed_requests: requestsOf(newlyAllowed),
    newly_allowed_clients: clients.newlyAllowed.count,
    newly_denied: changeReports(newlyDenied),
    newly_allowed: changeReports(newlyAllowed),
    clients_newly_denied: changed('newlyDenied'),
    clients_newly_allowed: changed('newlyAllowed'),
  };
}

function changeReports(changes: ReadonlyMap<string, Change>) {
  return [...changes]
    .map(([policy, change]) => ({ policy, ...change }))
    .sort((a, b) => b.requests - a.requests || (a.policy < b.policy ? -1 : 1));
}

function requestsOf(changes: ReadonlyMap<string, Change>): number {
  return sum([...changes.values()].map(({ requests }) => requests));
}

/** `client 1`, `client 2`: in the order of the lists, so that the same log gives the same names. Keys keep their ids. */
function numberedClients({ clients }: ReplayResult): (name: string) => string {
  const { denied, newlyDenied, newlyAllowed } = clients;
  const listed = [denied, newlyDenied, newlyAllowed].flatMap(({ most }) =>
    most.map(({ name }) => name),
  );
  const numbers = new Map([...new Set(listed)].map((name, i) => [name, `client ${i + 1}`]));
  return (name) => (name.startsWith(KEY_NAME) ? name : (numbers.get(name) ?? name));
}

function sum(numbers: Iterable<number>): number {
  return [...numbers].reduce((total, each) => total + each, 0);
}

function timeOf(ms: number): string | null {
  return Number.isFinite(ms) ? new Date(ms).toISOString() : null;
}
