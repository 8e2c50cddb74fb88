/** The report of a replay for people. */
import { count, percent, timeText } from '../figures.ts';
import type {
  ChangedClientReport,
  ChangeReport,
  DifferenceReport,
  PolicyReport,
  ReplayReport,
} from './report.ts';

/** A part of the text: lines, or a table whose first row has the names of its columns. */
export type TextPart = { readonly lines: readonly string[] } | { readonly table: Table };
type Table = readonly (readonly string[])[];

const LISTED_CLIENTS = 10;
const LONGEST_LINE = 160;

export function textOf(report: ReplayReport): TextPart[] {
  const { policies, clients, difference, notes } = report;
  return [
    { lines: headOf(report) },
    { table: [POLICY_COLUMNS, ...policies.flatMap(policyRows)] },
    ...(clients.length === 0 ? [] : [{ table: clientTable(report) }]),
    ...(difference === undefined ? [] : differenceParts(difference)),
    ...misreadParts(report),
    { lines: notes.map((note) => `note: ${note}`) },
  ];
}

function headOf({ log, lines, requests }: ReplayReport): string[] {
  const { read, understood, not_understood: misread, without_request: other, late } = lines;
  const { decided, denied, clients, denied_clients: deniedClients } = requests;
  return [
    `log: ${log.sources.join(', ')}; ${log.format}`,
    ...(log.from === null ? [] : [`time: ${timeText(log.from)} to ${timeText(log.to)} UTC`]),
    `lines: ${count(read)} read, ${count(understood)} understood, ${count(misread)} not understood${ifAny(other, 'without a request')}${ifAny(late, 'too late to be put in order')}`,
    `requests: ${count(decided)} of ${count(clients)} clients; ${count(denied)} denied (${percent(denied, decided)}), of ${count(deniedClients)} clients`,
    ...(requests.without_address === 0
      ? []
      : [
          `not decided: ${count(requests.without_address)} requests without the address of a client`,
        ]),
  ];
}

const POLICY_COLUMNS = [
  'POLICY AND LIMITS',
  'MODE',
  'REQUESTS',
  'CLIENTS',
  'DENIED',
  'DENIED CLIENTS',
  'FIRST DENIAL',
  'LAST DENIAL',
  'BUSIEST MINUTE',
];

function policyRows(policy: PolicyReport): string[][] {
  const { name, mode, limits, denied_requests_at_once: atOnce } = policy;
  const rows = limits.map((limit) => [`  ${limit.allows}`, '', ...countCells(limit)]);
  const [own = []] = [[name, mode, ...countCells(policy)]];
  if (atOnce !== undefined && atOnce !== policy.denied_requests) {
    own[DENIED] = `${own[DENIED]} (at once: ${count(atOnce)})`;
  }
  return [own, ...rows];
}

const DENIED = POLICY_COLUMNS.indexOf('DENIED');

type Counts = Omit<PolicyReport, 'name' | 'mode' | 'limits'>;

function countCells(counts: Counts): string[] {
  const { busiest_minute: busiest, not_evaluated: reason } = counts;
  const seen = [count(counts.requests), count(counts.clients)];
  if (reason !== undefined) return [...seen, `not evaluated: ${reason}`];
  return [
    ...seen,
    count(counts.denied_requests ?? 0),
    count(counts.denied_clients ?? 0),
    timeText(counts.first_denial),
    timeText(counts.last_denial),
    busiest === null ? '' : `${timeText(busiest.at).slice(0, -3)} (${count(busiest.requests)})`,
  ];
}

function clientTable({ clients }: ReplayReport): Table {
  return [
    ['DENIED MOST', 'REQUESTS', 'DENIED'],
    ...clients
      .slice(0, LISTED_CLIENTS)
      .map((each) => [each.client, count(each.requests), count(each.denied_requests)]),
  ];
}

function differenceParts(difference: DifferenceReport): TextPart[] {
  const {
    newly_denied_requests: denied,
    newly_denied_clients: deniedClients,
    newly_allowed_requests: allowed,
    newly_allowed_clients: allowedClients,
  } = difference;
  return [
    {
      lines: [
        `newly denied: ${count(denied)} requests of ${count(deniedClients)} clients`,
        `newly allowed: ${count(allowed)} requests of ${count(allowedClients)} clients`,
      ],
    },
    ...changeParts('NEWLY DENIED BY', difference.newly_denied, difference.clients_newly_denied),
    ...changeParts(
      'NO LONGER DENIED BY',
      difference.newly_allowed,
      difference.clients_newly_allowed,
    ),
  ];
}

function changeParts(
  title: string,
  changes: readonly ChangeReport[],
  clients: readonly ChangedClientReport[],
): TextPart[] {
  if (changes.length === 0) return [];
  return [
    {
      table: [
        [title, 'REQUESTS', 'CLIENTS'],
        ...changes.map((each) => [each.policy, count(each.requests), count(each.clients)]),
      ],
    },
    {
      table: [
        ['CLIENT', 'REQUESTS', 'CHANGED'],
        ...clients
          .slice(0, LISTED_CLIENTS)
          .map((each) => [each.client, count(each.requests), count(each.changed_requests)]),
      ],
    },
  ];
}

function misreadParts({ lines: { first_not_understood: first } }: ReplayReport): TextPart[] {
  if (first.length === 0) return [];
  return [
    {
      lines: [
        'the first lines that were not understood:',
        ...first.map(
          ({ source, line, field, text }) =>
            `  ${source}:${line}: ${field}: ${text.length > LONGEST_LINE ? `${text.slice(0, LONGEST_LINE)}…` : text}`,
        ),
      ],
    },
  ];
}

function ifAny(number: number, what: string): string {
  return number === 0 ? '' : `, ${count(number)} ${what}`;
}
