/** Every denied request is in one row, and the row names the policy, the plan and the limit that denied it. */
import { createHash } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import type { LogEntry } from '../../../../../src/cli/evidence/formats/log-format.ts';
import { createLogRequests } from '../../../../../src/cli/evidence/log-request.ts';
import { replayPage } from '../../../../../src/cli/evidence/page/replay-page.ts';
import { chartsOf } from '../../../../../src/cli/evidence/replay/charts.ts';
import { Decider } from '../../../../../src/cli/evidence/replay/decider.ts';
import { Replay } from '../../../../../src/cli/evidence/replay/replay.ts';
import { type ReplayReport, reportOn } from '../../../../../src/cli/evidence/replay/report.ts';
import { textOf } from '../../../../../src/cli/evidence/replay/report-text.ts';
import { addResults } from '../../../../../src/cli/evidence/replay/result.ts';
import type { PolicySet } from '../../../../../src/gateway/core/matching/policy-set.ts';
import { SaltBooks } from '../../../../../src/gateway/stores/salts/salt-sources.ts';
import { LOG_START_MS, logEntry } from '../../../../support/log-entries.ts';
import { policySetFrom } from '../../../../support/policies.ts';
import { Random } from '../../../../support/random.ts';
import { rounds } from '../../../../support/short-form.ts';

const MAPPING = [{ target: 'api_key', field: 'key' }];
const LINES = { read: 0, understood: 0, withoutRequest: 0, misread: 0, outOfOrder: 0, late: 0 };

interface Replayed {
  readonly entries: readonly LogEntry[];
  readonly mapping?: typeof MAPPING;
  readonly hostPolicies?: ReadonlySet<string>;
  readonly misread?: string;
  readonly showsAddresses?: boolean;
  readonly against?: PolicySet;
}

function replayed(policies: PolicySet, options: Replayed) {
  const { entries, against, mapping = [], hostPolicies = new Set<string>() } = options;
  const replay = new Replay({
    ...{ policies, against, mapping, precisionMs: 1, measuresPeaks: true, thread: 0, threads: 1 },
  });
  for (const entry of entries) {
    const kept = replay.keep(entry);
    if (kept !== undefined) replay.add(kept);
  }
  const result = addResults([replay.finish()]);
  const { misread = [], showsAddresses = false } = options;
  const firstMisread = [misread]
    .flat()
    .map((text) => ({ source: 0, line: 1, field: 'time', text }));
  const report = reportOn(result, {
    ...{ policies, hostPolicies, mapping, showsAddresses, notes: [] },
    ...{ log: { sources: ['access.log'], format: 'any' }, hasDifference: against !== undefined },
    lines: { ...LINES, firstMisread },
  });
  return { report, charts: chartsOf(result, policies) };
}

const sum = (numbers: readonly (number | null)[]) =>
  numbers.reduce<number>((total, each) => total + (each ?? 0), 0);

type Row = readonly [policy: string, plan: string | undefined, label: string, denied: number];

function deniedRows({ policies }: ReplayReport): Row[] {
  return policies.flatMap(({ name, limits }) =>
    limits
      .filter(({ denied_requests: denied }) => (denied ?? 0) > 0)
      .map(({ plan, label, denied_requests: denied }): Row => [name, plan, label, denied ?? 0]),
  );
}

const KEYS = { gold: 'key-of-gold', pro: 'key-of-pro', none: 'key-without-plan' };
const PLANS = new Map<string | undefined, string>([
  [KEYS.gold, 'gold'],
  [KEYS.pro, 'pro'],
]);

function randomPolicies(random: Random): PolicySet {
  const limit = () => {
    const per = random.oneOf(['client', 'ip', 'api_key', 'global']);
    const algorithm = random.oneOf(['sliding-window-log', 'fixed-window', 'token-bucket']);
    return `{ rate: ${2 + random.below(9)}/${random.oneOf(['1min', '5min', '1h', '2d'])}, per: ${per}, algorithm: ${algorithm} }`;
  };
  // Limits of one list may not count the same: with one of each kind, they never do.
  const limits = () => `[${limit()}]`;
  const several = () =>
    `[{ rate: ${2 + random.below(5)}/1min }, { rate: ${5 + random.below(9)}/1h, per: ip }, { rate: ${20 + random.below(90)}/1d, per: global }]`;
  const either = () => (random.below(2) === 0 ? limits() : several());
  const plans = () =>
    random.oneOf([
      '',
      `, plans: { gold: ${either()} }`,
      `, plans: { gold: ${either()}, pro: ${either()} }`,
    ]);
  const rest = () =>
    `limits: ${either()}${plans()}, mode: ${random.oneOf(['enforce', 'enforce', 'shadow'])}`;
  const key = (id: string, text: string, plan?: string) =>
    `{ id: ${id}, sha256: ${createHash('sha256').update(text).digest('hex')}${plan === undefined ? '' : `, plan: ${plan}`} }`;
  return policySetFrom(
    `
version: 1
identity:
  sources: [api_key, ip]
  ip: { ipv6_prefixes: { 64: 1x, 48: 2x } }
  api_key: { header: x-api-key, keys: [${key('a', KEYS.gold, 'gold')}, ${key('b', KEYS.pro, 'pro')}, ${key('c', KEYS.none)}] }
block: [198.51.100.1]
exempt: [198.51.100.2]
default: { ${rest()} }
policies:
  - { name: login, match: { path: /login }, ${rest()} }
  - { name: search, match: { path: /search }, ${rest()} }
  - { name: everything, always: true, ${rest()} }
`.replace(", 'id:none-such'", ''),
  );
}

function randomRequests(random: Random): LogEntry[] {
  let startMs = LOG_START_MS;
  return Array.from({ length: 400 }, () => {
    startMs += random.below(20_000);
    const key = random.oneOf([undefined, undefined, 'invented', ' blank', ...Object.values(KEYS)]);
    const address =
      random.below(3) === 0
        ? `2001:db8:1:${random.below(4)}::${random.below(3)}`
        : `198.51.100.${random.below(8)}`;
    return logEntry({
      ...{ startMs, address, fields: [key] },
      target: random.oneOf(['/login', '/search?q=1', '/', '/a%00b', '/..%2f..']),
      host: random.oneOf([undefined, 'a.example', 'a b', 'x_y.example:99999']),
    });
  });
}

/** What the decisions say, without the tally of a replay. */
function decisionRows(policies: PolicySet, entries: readonly LogEntry[]) {
  const requestOf = createLogRequests(policies, MAPPING);
  const modes = new Map();
  const decider = new Decider({ policies, modes, salts: new SaltBooks(), isEvaluated: () => true });
  const rows = new Map<string, Row>();
  const refused = new Map<string, number>();
  for (const entry of entries) {
    const request = requestOf(entry);
    if (request === undefined) continue;
    const { decision, wouldDeny } = decider.decide(request, entry.startMs);
    const denials = decision.verdict === 'deny' ? [...wouldDeny, decision] : wouldDeny;
    for (const { binding, policy, reason } of denials) {
      if (binding === undefined) refused.set(reason, (refused.get(reason) ?? 0) + 1);
      else {
        const plan = PLANS.get(entry.fields[0]);
        const applies = plan !== undefined && binding.limit.policy.plans.has(plan);
        const row = [policy, applies ? plan : undefined, binding.limit.label] as const;
        const known = rows.get(String(row))?.[3] ?? 0;
        rows.set(String(row), [...row, known + 1]);
      }
    }
  }
  return { rows: [...rows.values()], refused };
}

test('every denied request is in one row, for any policies', () => {
  const seen = { plans: 0, refused: new Set<string>(), implied: 0 };
  for (let seed = 1; seed <= rounds(100); seed++) {
    const random = new Random(seed);
    const policies = randomPolicies(random);
    const entries = randomRequests(random);
    const { report, charts } = replayed(policies, { entries, mapping: MAPPING });
    const expected = decisionRows(policies, entries);
    const about = `seed ${seed}`;
    expect(deniedRows(report).sort(), about).toEqual(expected.rows.sort());
    expect(
      report.refused.map((each) => [each.reason, each.requests, each.denied_requests]),
      about,
    ).toEqual([...expected.refused].sort().map(([reason, number]) => [reason, number, number]));
    for (const policy of report.policies) {
      const ofLimits = sum(policy.limits.map((limit) => limit.denied_requests));
      expect([about, policy.name, ofLimits]).toEqual([about, policy.name, policy.denied_requests]);
    }
    const enforced = report.policies.filter(({ mode }) => mode === 'enforce');
    const rows = [...enforced, ...report.refused].map((each) => each.denied_requests);
    expect(sum(rows), about).toBe(report.requests.denied);
    expect(deniedInText(report), about).toEqual(deniedInJson(report));
    expect(deniedInPage(replayPage(report, charts)), about).toEqual(deniedInJson(report));
    for (const [, plan, label] of deniedRows(report)) {
      if (plan !== undefined) seen.plans++;
      if (label.includes(':unverified') || label.includes(':ipv6-')) seen.implied++;
    }
    for (const { reason } of report.refused) seen.refused.add(reason);
  }
  expect([...seen.refused].sort()).toEqual(['ambiguous_identity', 'blocked', 'malformed_path']);
  expect(seen.plans).toBeGreaterThan(rounds(50));
  expect(seen.implied).toBeGreaterThan(0);
});

const shown = (number: number | null) => String(number ?? 0);

/** The column of denied requests, of policies, limits and refusals. */
function deniedInJson({ policies, refused }: ReplayReport): string[] {
  const ofPolicies = policies.flatMap((policy) => [policy, ...policy.limits]);
  return [...ofPolicies, ...refused].map((each) => shown(each.denied_requests));
}

function deniedInText(report: ReplayReport): string[] {
  const [table] = textOf(report).flatMap((part) => ('table' in part ? [part.table] : []));
  return (table ?? []).slice(1).map((row) => row[4] ?? '');
}

function deniedInPage(page: string): string[] {
  const [, table = ''] = /<table class="policies">([\s\S]*?)<\/table>/.exec(page) ?? [];
  return [...table.matchAll(/<tr[^>]*><th scope="row">[\s\S]*?<\/tr>/g)].map(([row]) => {
    const cells = [...row.matchAll(/<td[^>]*>([^<]*)/g)].map(([, cell]) => cell ?? '');
    return cells[3] ?? '';
  });
}

const visits = (count: number, parts: Partial<LogEntry> = {}) =>
  Array.from({ length: count }, (_, i) => logEntry({ startMs: LOG_START_MS + i, ...parts }));

test('rows say in words which plan denied, and why a request was refused', () => {
  const policies = policySetFrom(`
version: 1
identity:
  sources: [api_key, ip]
  api_key:
    header: x-api-key
    keys: [{ id: a, sha256: ${createHash('sha256').update(KEYS.gold).digest('hex')}, plan: gold }]
block: [198.51.100.1]
default: { limits: [2/1min], plans: { gold: [3/1min] } }`);
  const entries = [
    ...visits(5, { fields: [KEYS.gold] }),
    ...visits(2, { address: '198.51.100.1', fields: [] }),
    ...visits(1, { target: '/a%00b', fields: [] }),
  ];
  const { report, charts } = replayed(policies, { entries, mapping: MAPPING });
  const [table] = textOf(report).flatMap((part) => ('table' in part ? [part.table] : []));
  expect(table?.slice(1).map((row) => [row[0], row[4]])).toEqual([
    ['default', '2'],
    ['  2 requests per minute', '0'],
    ['  plan gold: 3 requests per minute', '2'],
    ['refused: the policy file blocks the client', '2'],
    ['refused: the path is malformed', '1'],
  ]);
  const page = replayPage(report, charts);
  expect(page).toContain('<bdi>plan gold: 3 requests per minute</bdi></th>');
  expect(page).toContain('refused: the policy file blocks the client</th>');
  // The peaks of the plan are those of its clients.
  expect(charts.limits).toMatchObject([
    { label: 'default', plan: 'gold', limit: 3, peaks: [[5, 1]] },
  ]);
  expect(page).toContain('<small><bdi>plan gold: 3 requests per minute</bdi></small>');
});

test('limits of plans are not evaluated if the log has no keys, and the policy is', () => {
  const policies = policySetFrom(`
version: 1
identity: { sources: [api_key, user, ip] }
default: { limits: [2/1min], plans: { gold: [{ rate: 3/1min, per: user }] } }`);
  const { report } = replayed(policies, { entries: visits(5) });
  expect(report.policies).toMatchObject([
    {
      denied_requests: 3,
      limits: [
        { denied_requests: 3 },
        { plan: 'gold', denied_requests: null, not_evaluated: expect.stringContaining('API keys') },
      ],
    },
  ]);
});

test('a file in shadow mode denies nobody, and the report says whom it would deny', () => {
  const policies = policySetFrom(`
version: 1
identity: { sources: [ip] }
default: { limits: [4/1min] }
policies: [{ name: trial, always: true, mode: shadow, limits: [2/1min] }]`);
  const entries = [
    ...visits(5),
    ...visits(3, { address: '192.0.2.2' }),
    ...visits(1, { address: '192.0.2.3' }),
  ];
  entries.sort((a, b) => a.startMs - b.startMs);
  const { report, charts } = replayed(policies, { entries });
  // One client is denied its fifth request; the trial would deny its third and fourth, and the third of another one.
  expect(report.requests).toMatchObject({
    ...{ denied: 1, denied_clients: 1 },
    ...{ denied_with_shadow: 4, denied_clients_with_shadow: 2 },
  });
  const [head] = textOf(report).flatMap((part) => ('lines' in part ? [part.lines] : []));
  expect(head).toContain('with policies in shadow mode: 4 would be denied (44 %), of 2 clients');
  expect(replayPage(report, charts)).toContain(
    'With policies in shadow mode, 4 requests of 2 clients would be denied.',
  );
});

test('the difference says which requests are refused before a policy', () => {
  const file = (block: string) =>
    policySetFrom(`
version: 1
identity: { sources: [ip] }
block: [${block}]
default: { limits: [9/1min] }`);
  const options = { entries: visits(2), against: file('') };
  const { report, charts } = replayed(file('203.0.113.9'), options);
  expect(report.difference?.newly_denied).toEqual([{ policy: 'none', requests: 2, clients: 1 }]);
  expect(JSON.stringify(textOf(report))).toContain('["refused before a policy","2","1"]');
  expect(replayPage(report, charts)).toContain('<bdi>refused before a policy</bdi></th>');
});

describe('notes', () => {
  const hosts = policySetFrom(`
version: 1
identity: { sources: [ip] }
default: { limits: [2/1min] }
policies: [{ name: api, match: { host: api.example.com }, limits: [9/1min] }]`);
  const hostPolicies = new Set(['api']);
  const notesOf = (entries: readonly LogEntry[], names = hostPolicies) =>
    replayed(hosts, { entries, hostPolicies: names }).report.notes.join('\n');

  test('name the policies that match by host, if the log does not say the host', () => {
    expect(notesOf(visits(5))).toContain(
      '5 of 5 requests do not say which host was asked for. Policies that match by host (api) did not count them',
    );
    expect(notesOf([...visits(5), ...visits(2, { host: 'api.example.com' })])).toContain(
      '5 of 7 requests do not say which host',
    );
  });

  test('do not mention hosts if none is missing, or none matters', () => {
    expect(notesOf(visits(5, { host: 'api.example.com' }))).not.toContain('which host');
    expect(notesOf(visits(5), new Set())).not.toContain('which host');
  });
});

test.each([
  -1e16,
  1e19,
  1e302,
  Number.POSITIVE_INFINITY,
  Number.NEGATIVE_INFINITY,
  Number.NaN,
  -1,
  8.64e15,
])('a request at %d ms is not decided, and the others are', (startMs) => {
  const policies = policySetFrom(`
version: 1
identity: { sources: [ip] }
default: { limits: [1/1s, { rate: 2/day, zone: Europe/Zurich }, { rate: 5/1h, algorithm: fixed-window }] }`);
  const { report, charts } = replayed(policies, { entries: [...visits(3), logEntry({ startMs })] });
  expect(report.requests).toMatchObject({ decided: 3, denied: 2 });
  expect(report.notes.join()).toContain('1 requests were not decided: their start');
  expect(replayPage(report, charts)).toContain('<strong>2</strong> of 3 requests denied');
});

test('the first and the last moment of calendars are decided', () => {
  const policies = policySetFrom(`
version: 1
identity: { sources: [ip] }
default: { limits: [5/1s, { rate: 2/year, zone: Pacific/Auckland, per: global }, { rate: 5/31d }] }`);
  const entries = [0, Date.UTC(10_000) - 1].map((startMs) => logEntry({ startMs }));
  const { report, charts } = replayed(policies, { entries });
  expect(report.requests).toMatchObject({ decided: 2, denied: 0 });
  expect(report.log).toMatchObject({ from: '1970-01-01T00:00:00.000Z' });
  expect(replayPage(report, charts)).toContain('<strong>0</strong> of 2 requests denied');
});

describe('lines that were not understood', () => {
  const policies = policySetFrom('{ version: 1, default: { limits: [2/1min] } }');
  const line = '203.0.113.9 - ann [yesterday] "GET /?from=2001:db8::7 HTTP/1.1"';
  const shownIn = (showsAddresses: boolean) => {
    const options = { entries: [], misread: line, showsAddresses };
    const { report, charts } = replayed(policies, options);
    return [JSON.stringify(report), JSON.stringify(textOf(report)), replayPage(report, charts)];
  };

  test('show no address in any output', () => {
    for (const output of shownIn(false)) {
      expect(output).toContain('[address] - ann [yesterday]');
      expect(output).not.toMatch(/203\.0|2001:db8/);
    }
  });

  test('show addresses with --addresses', () => {
    for (const output of shownIn(true)) expect(output).toContain('203.0.113.9 - ann [yesterday]');
  });
});
