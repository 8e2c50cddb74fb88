/** The report for people, of a report as JSON has it. */
import { expect, test } from 'vitest';
import type { PolicyReport, ReplayReport } from '../../../../../src/cli/evidence/replay/report.ts';
import { textOf } from '../../../../../src/cli/evidence/replay/report-text.ts';
import {
  deniedByText,
  limitText,
  refusalText,
} from '../../../../../src/cli/evidence/replay/row-names.ts';

const AT = '2026-11-22T00:53:32.000Z';
const COUNTS = {
  ...{ requests: 1_234, clients: 12, denied_requests: 34, denied_clients: 5 },
  ...{ first_denial: AT, last_denial: '2026-11-22T01:00:00.000Z' },
  busiest_minute: { at: '2026-11-22T00:53:00.000Z', requests: 1_000, denied_requests: 34 },
};
const NO_DENIALS = {
  ...{ requests: 7, clients: 1, denied_requests: 0, denied_clients: 0 },
  ...{ first_denial: null, last_denial: null, busiest_minute: null },
};

function policy(parts: Partial<PolicyReport> = {}): PolicyReport {
  return { name: 'login', mode: 'enforce', ...COUNTS, limits: [], ...parts };
}

function report(parts: Partial<ReplayReport> = {}): ReplayReport {
  return {
    log: { sources: ['a.log', 'b.log'], format: 'combined', from: AT, to: AT },
    lines: {
      ...{ read: 1_300, understood: 1_234, not_understood: 0, first_not_understood: [] },
      ...{ without_request: 0, late: 0, out_of_order: 0 },
    },
    requests: {
      ...{ decided: 1_234, denied: 34, clients: 12, denied_clients: 5 },
      ...{ denied_with_shadow: 34, denied_clients_with_shadow: 5 },
      ...{ without_address: 0, logged_429: 0, reasons: {} },
    },
    ...{ policies: [policy()], refused: [], clients: [], notes: [] },
    ...parts,
  };
}

type Parts = ReturnType<typeof textOf>;
const linesOf = (part: Parts[number] | undefined) => (part && 'lines' in part ? part.lines : []);
const tablesOf = (parts: Parts) => parts.flatMap((part) => ('table' in part ? [part.table] : []));
const head = (parts: Partial<ReplayReport> = {}) => linesOf(textOf(report(parts))[0]);

test('the head says what was read, what was decided, and nothing that is not', () => {
  expect(head()).toEqual([
    'log: a.log, b.log; combined',
    'time: 2026-11-22 00:53:32 to 2026-11-22 00:53:32 UTC',
    'lines: 1,300 read, 1,234 understood, 0 not understood',
    'requests: 1,234 of 12 clients; 34 denied (2.8 %), of 5 clients',
  ]);
});

test('a log without an entry has no time', () => {
  const log = { sources: ['a.log'], format: 'json', from: null, to: null };
  expect(head({ log }).map((line) => line.split(':')[0])).toEqual(['log', 'lines', 'requests']);
});

test.each([
  [{ without_request: 1 }, ', 1 without a request'],
  [{ late: 2_000 }, ', 2,000 too late to be put in order'],
  [{ without_request: 3, late: 4 }, ', 3 without a request, 4 too late to be put in order'],
  [{ out_of_order: 5 }, ''],
])('lines with %j', (changed, end) => {
  const lines = { ...report().lines, not_understood: 6, ...changed };
  expect(head({ lines })[2]).toBe(`lines: 1,300 read, 1,234 understood, 6 not understood${end}`);
});

test('what policies in shadow mode would deny is told if it is more', () => {
  const { requests } = report();
  const shadow = { ...requests, denied_with_shadow: 617, denied_clients_with_shadow: 1_000 };
  expect(head({ requests: shadow }).slice(4)).toEqual([
    'with policies in shadow mode: 617 would be denied (50 %), of 1,000 clients',
  ]);
});

test('requests without an address are told', () => {
  const requests = { ...report().requests, without_address: 1_001 };
  expect(head({ requests }).slice(4)).toEqual([
    'not decided: 1,001 requests without the address of a client',
  ]);
});

test('a row for each policy, limit and refusal, in this order', () => {
  const limits = [
    { label: 'a', allows: '5 requests per minute', ...COUNTS },
    { label: 'b', plan: 'gold', allows: '9 requests per minute', ...NO_DENIALS },
  ];
  const [table = [], ...others] = tablesOf(
    textOf(
      report({
        policies: [policy({ limits }), policy({ name: 'default', mode: 'shadow' })],
        refused: [{ reason: 'malformed_path', ...NO_DENIALS }],
      }),
    ),
  );
  expect(others).toEqual([]);
  const counts = [
    ...['1,234', '12', '34', '5', '2026-11-22 00:53:32', '2026-11-22 01:00:00'],
    '2026-11-22 00:53 (1,000)',
  ];
  const none = ['7', '1', '0', '0', '', '', ''];
  expect(table).toEqual([
    [
      ...['POLICY AND LIMITS', 'MODE', 'REQUESTS', 'CLIENTS', 'DENIED', 'DENIED CLIENTS'],
      ...['FIRST DENIAL', 'LAST DENIAL', 'BUSIEST MINUTE'],
    ],
    ['login', 'enforce', ...counts],
    ['  5 requests per minute', '', ...counts],
    ['  plan gold: 9 requests per minute', '', ...none],
    ['default', 'shadow', ...counts],
    ['refused: the path is malformed', '', ...none],
  ]);
});

test('the number "at once" stands beside the denied ones, if it is another', () => {
  const denied = (atOnce: number) =>
    tablesOf(textOf(report({ policies: [policy({ denied_requests_at_once: atOnce })] })))[0]?.[1];
  expect(denied(1_040)?.[4]).toBe('34 (at once: 1,040)');
  expect(denied(0)?.[4]).toBe('34 (at once: 0)');
  expect(denied(34)?.[4]).toBe('34');
});

test('what the log cannot tell is no number', () => {
  const counts = { ...NO_DENIALS, denied_requests: null, denied_clients: null };
  const unknown = policy({ ...counts, not_evaluated: 'the log has no key' });
  expect(tablesOf(textOf(report({ policies: [unknown] })))[0]?.[1]).toEqual([
    ...['login', 'enforce', '7', '1', 'not evaluated: the log has no key'],
  ]);
});

const listed = (count: number) =>
  Array.from({ length: count }, (_, i) => ({
    ...{ client: `client ${i + 1}`, requests: 1_000 + i, denied_requests: 100 - i },
  }));

test('ten clients are listed', () => {
  expect(tablesOf(textOf(report()))).toHaveLength(1);
  const table = (count: number) => tablesOf(textOf(report({ clients: listed(count) })))[1] ?? [];
  expect(table(1)).toEqual([
    ['DENIED MOST', 'REQUESTS', 'DENIED'],
    ['client 1', '1,000', '100'],
  ]);
  expect(table(10)).toHaveLength(11);
  expect(table(11)).toHaveLength(11);
  expect(table(11).at(-1)).toEqual(['client 10', '1,009', '91']);
});

const NO_CHANGE = {
  ...{ newly_denied_requests: 0, newly_denied_clients: 0 },
  ...{ newly_allowed_requests: 0, newly_allowed_clients: 0 },
  ...{ newly_denied: [], newly_allowed: [], clients_newly_denied: [], clients_newly_allowed: [] },
};

test('two files that decide alike: two lines, and no tables', () => {
  const parts = textOf(report({ difference: NO_CHANGE }));
  expect(linesOf(parts[2])).toEqual([
    'newly denied: 0 requests of 0 clients',
    'newly allowed: 0 requests of 0 clients',
  ]);
  expect(tablesOf(parts)).toHaveLength(1);
});

test('what changed, by policy and by client, in each direction', () => {
  const difference = {
    ...{ newly_denied_requests: 1_500, newly_denied_clients: 3 },
    ...{ newly_allowed_requests: 20, newly_allowed_clients: 2 },
    newly_denied: [
      { policy: 'login', requests: 1_400, clients: 2 },
      { policy: 'none', requests: 100, clients: 1 },
    ],
    newly_allowed: [{ policy: 'default', requests: 20, clients: 2 }],
    clients_newly_denied: [{ client: 'client 1', requests: 2_000, changed_requests: 1_400 }],
    clients_newly_allowed: [{ client: 'client 2', requests: 50, changed_requests: 19 }],
  };
  const parts = textOf(report({ difference }));
  expect(linesOf(parts[2])).toEqual([
    'newly denied: 1,500 requests of 3 clients',
    'newly allowed: 20 requests of 2 clients',
  ]);
  expect(tablesOf(parts).slice(1)).toEqual([
    [
      ['NEWLY DENIED BY', 'REQUESTS', 'CLIENTS'],
      ['login', '1,400', '2'],
      ['refused before a policy', '100', '1'],
    ],
    [
      ['CLIENT', 'REQUESTS', 'CHANGED'],
      ['client 1', '2,000', '1,400'],
    ],
    [
      ['NO LONGER DENIED BY', 'REQUESTS', 'CLIENTS'],
      ['default', '20', '2'],
    ],
    [
      ['CLIENT', 'REQUESTS', 'CHANGED'],
      ['client 2', '50', '19'],
    ],
  ]);
});

test('lines that were not understood are cut after 160 characters, and notes come last', () => {
  const misread = (text: string) => ({ source: 'a.log', line: 9, field: 'time', text });
  const lines = {
    ...report().lines,
    first_not_understood: [misread('x'.repeat(160)), misread('y'.repeat(161))],
  };
  const parts = textOf(report({ lines, notes: ['one', 'two'] }));
  expect(linesOf(parts.at(-2))).toEqual([
    'the first lines that were not understood:',
    `  a.log:9: time: ${'x'.repeat(160)}`,
    `  a.log:9: time: ${'y'.repeat(160)}…`,
  ]);
  expect(linesOf(parts.at(-1))).toEqual(['note: one', 'note: two']);
  expect(textOf(report())).toHaveLength(3);
});

test('rows have names for people', () => {
  expect(limitText({ allows: '5 a day' })).toBe('5 a day');
  expect(refusalText({ reason: 'blocked' })).toBe('refused: the policy file blocks the client');
  expect(refusalText({ reason: 'ambiguous_identity' })).toBe(
    'refused: a header that identifies the client is ambiguous',
  );
  expect(refusalText({ reason: 'other' })).toBe('refused: other');
  expect(deniedByText('none')).toBe('refused before a policy');
  expect(deniedByText('login')).toBe('login');
});
