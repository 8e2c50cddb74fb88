/** The report of a replay for people. */
import { busiestText, count, percent, shortened, timeText } from '../figures.ts';
import type {
  ChangedClientReport,
  ChangeReport,
  CountsReport,
  DifferenceReport,
  PolicyReport,
  RefusalReport,
  ReplayReport,
} from './report.ts';
import { deniedByText, limitText, refusalText } from './row-names.ts';

export type TextPart = { readonly lines: readonly string[] } | { readonly table: Table };
type Table = readonly (readonly string[])[];

const LISTED_CLIENTS = 10;
const LONGEST_LINE = 160;

export function textOf(report: ReplayReport): TextPart[] {
  const { policies, refused, clients, difference, notes } = report;
  return [
    { lines: headOf(report) },
    { table: [POLICY_COLUMNS, ...policies.flatMap(policyRows), ...refused.map(refusalRow)] },
    ...(clients.length === 0 ? [] : [deniedMost(clients)]),
    ...(difference === undefined ? [] : differenceParts(difference)),
    ...misreadParts(report),
    { lines: notes.map((note) => `note: ${note}`) },
  ];
}

function headOf({ log, lines, requests }: ReplayReport): string[] {
  const { read, understood, not_understood: misread, without_request: other, late } = lines;
  const { decided, denied, clients, denied_clients: deniedClients } = requests;
  const withShadow = requests.denied_with_shadow;
  return [
    `log: ${log.sources.join(', ')}; ${log.format}`,
    ...(log.from === null ? [] : [`time: ${timeText(log.from)} to ${timeText(log.to)} UTC`]),
    `lines: ${count(read)} read, ${count(understood)} understood, ${count(misread)} not understood${ifAny(other, 'without a request')}${ifAny(late, 'too late to be put in order')}`,
    `requests: ${count(decided)} of ${count(clients)} clients; ${count(denied)} denied (${percent(denied, decided)}), of ${count(deniedClients)} clients`,
    ...(withShadow === denied
      ? []
      : [
          `with policies in shadow mode: ${count(withShadow)} would be denied (${percent(withShadow, decided)}), of ${count(requests.denied_clients_with_shadow)} clients`,
        ]),
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
  const own = [name, mode, ...countCells(policy)];
  if (atOnce !== undefined && atOnce !== policy.denied_requests) {
    own[DENIED] += ` (at once: ${count(atOnce)})`;
  }
  return [own, ...limits.map((limit) => [`  ${limitText(limit)}`, '', ...countCells(limit)])];
}

function refusalRow(refusal: RefusalReport): string[] {
  return [refusalText(refusal), '', ...countCells(refusal)];
}

const DENIED = POLICY_COLUMNS.indexOf('DENIED');

function countCells(counts: CountsReport): string[] {
  const { not_evaluated: reason } = counts;
  const seen = [count(counts.requests), count(counts.clients)];
  if (reason !== undefined) return [...seen, `not evaluated: ${reason}`];
  return [
    ...seen,
    count(counts.denied_requests ?? 0),
    count(counts.denied_clients ?? 0),
    timeText(counts.first_denial),
    timeText(counts.last_denial),
    busiestText(counts),
  ];
}

function deniedMost(clients: ReplayReport['clients']): TextPart {
  return clientTable(
    ['DENIED MOST', 'REQUESTS', 'DENIED'],
    clients.map((each) => [each.client, each.requests, each.denied_requests]),
  );
}

function clientTable(
  head: readonly string[],
  clients: readonly (readonly [client: string, requests: number, part: number])[],
): TextPart {
  const rows = clients.slice(0, LISTED_CLIENTS);
  return { table: [head, ...rows.map(([client, ...counts]) => [client, ...counts.map(count)])] };
}

function differenceParts(difference: DifferenceReport): TextPart[] {
  const { newly_denied: denied, newly_allowed: allowed, ...rest } = difference;
  return [
    {
      lines: [
        `newly denied: ${count(rest.newly_denied_requests)} requests of ${count(rest.newly_denied_clients)} clients`,
        `newly allowed: ${count(rest.newly_allowed_requests)} requests of ${count(rest.newly_allowed_clients)} clients`,
      ],
    },
    ...changeParts('NEWLY DENIED BY', denied, rest.clients_newly_denied),
    ...changeParts('NO LONGER DENIED BY', allowed, rest.clients_newly_allowed),
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
        ...changes.map((each) => [
          deniedByText(each.policy),
          count(each.requests),
          count(each.clients),
        ]),
      ],
    },
    clientTable(
      ['CLIENT', 'REQUESTS', 'CHANGED'],
      clients.map((each) => [each.client, each.requests, each.changed_requests]),
    ),
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
            `  ${source}:${line}: ${field}: ${shortened(text, LONGEST_LINE)}`,
        ),
      ],
    },
  ];
}

function ifAny(number: number, what: string): string {
  return number === 0 ? '' : `, ${count(number)} ${what}`;
}
