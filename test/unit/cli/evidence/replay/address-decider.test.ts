/** Random policy files and logs: a replay by addresses decides each request as the production check does. */
import { expect, test } from 'vitest';
import { formatNamed } from '../../../../../src/cli/evidence/formats/index.ts';
import type { LogEntry } from '../../../../../src/cli/evidence/formats/log-format.ts';
import { EntryStream } from '../../../../../src/cli/evidence/reading/entry-stream.ts';
import { AddressDecider } from '../../../../../src/cli/evidence/replay/address-decider.ts';
import { ClientBook } from '../../../../../src/cli/evidence/replay/client-book.ts';
import {
  type Decided,
  MappedDecider,
} from '../../../../../src/cli/evidence/replay/entry-decider.ts';
import { evaluabilityOf } from '../../../../../src/cli/evidence/replay/evaluable.ts';
import { LogClients } from '../../../../../src/cli/evidence/replay/log-clients.ts';
import { Tally } from '../../../../../src/cli/evidence/replay/tally.ts';
import { SaltBooks } from '../../../../../src/gateway/stores/salts/salt-sources.ts';
import {
  combinedLine,
  LOG_START_MS,
  logEntry,
  seededRandom,
} from '../../../../support/log-entries.ts';
import { policySetFrom } from '../../../../support/policies.ts';
import { rounds } from '../../../../support/short-form.ts';

const SHA = 'ab'.repeat(32);
const WINDOWS = ['1s', '10s', '1min', '7min', '1h', '1d', '3d'];
const CALENDARS = ['day', 'week', 'month'];
const ALGORITHMS = [
  'sliding-window-log',
  'sliding-window-counter',
  'token-bucket',
  'fixed-window',
] as const;
const PER = ['client', 'client', 'ip', 'global', 'api_key', 'user', 'header:x-tenant'];
const MATCHES = [
  '{ path: /login }',
  '{ path: /login, method: POST }',
  '{ path: /a/* }',
  '{ path: /users/:id }',
  '{ host: api.example.com }',
  '{ path: /a/b, host: "*.example.com" }',
];
const TARGETS = [
  ...[
    '/login',
    '/LOGIN/',
    '//login?x=/a',
    '/login?next=/a/../b',
    '/a/b',
    '/a/c?d',
    '/a/%2e%2e/login',
  ],
  ...['/users/7', '/users/8/', '/a%00b', '/a;x=1/b', 'http://api.example.com/a/b', '/é', '*', '/'],
];
const HOSTS = [undefined, undefined, 'api.example.com', 'www.example.com:8080', 'bad host', 'x'];
const ADDRESSES = [
  ...['203.0.113.1', '203.0.113.2', '198.51.100.7', '198.51.100.9', '10.0.0.5', '127.0.0.1'],
  ...['2001:db8::1', '2001:DB8:0:0::1', '2001:db8:0:1::1', '2001:db8:1::5', '::ffff:203.0.113.1'],
  ...[
    '64:ff9b::cb00:7101',
    '64:ff9b::a00:5',
    '2002:cb00:7102::1',
    '[2001:db8::1]:80',
    '203.0.113.1:9',
  ],
  ...['unix:', '-', 'client.example.com', '01.2.3.4', '256.1.1.1', '1.2.3'],
];

type Random = () => number;
const pick = <T>(random: Random, all: readonly T[]): T =>
  all[Math.floor(random() * all.length)] as T;

function limitsFrom(random: Random): string {
  const windows = [...WINDOWS].sort(() => random() - 0.5).slice(0, 1 + Math.floor(random() * 3));
  const limits = windows.map((window, i) => {
    const count = 2 + Math.floor(random() * 9);
    const per = pick(random, PER);
    if (i === 0 && random() < 0.3)
      return `{ rate: ${count}/${pick(random, CALENDARS)}, per: ${per} }`;
    const algorithm = pick(random, ALGORITHMS);
    const burst = algorithm === 'token-bucket' ? `, burst: ${2 + Math.floor(random() * 9)}` : '';
    const rejected = random() < 0.2 ? ', count_rejected: true' : '';
    return `{ rate: ${count}/${window}, per: ${per}, algorithm: ${algorithm}${burst}${rejected} }`;
  });
  return `[${limits.join(', ')}]`;
}

function policiesFrom(random: Random): string {
  const matches = [...MATCHES].sort(() => random() - 0.5).slice(0, 1 + Math.floor(random() * 5));
  const policies = matches.map((match, i) => {
    const mode = pick(random, ['enforce', 'enforce', 'shadow', 'off']);
    const always = random() < 0.3 ? ', always: true' : '';
    const cost = random() < 0.3 ? ', cost: 2' : '';
    const plans = random() < 0.2 ? `, plans: { gold: ${limitsFrom(random)} }` : '';
    return `  - { name: p${i}, match: ${match}, mode: ${mode}${always}${cost}, limits: ${limitsFrom(random)}${plans} }`;
  });
  const prefixes = pick(random, [
    '{ 64: 1x }',
    '{ 64: 1x, 48: 3x }',
    '{ 128: 1x, 64: 2x, 32: 5x }',
  ]);
  const lists =
    random() < 0.5
      ? 'exempt: [198.51.100.9, { address: 203.0.113.2, expires: 2026-11-02 }]\nblock: [198.51.100.0/24, "2001:db8:1::/48", "2002::/16"]\n'
      : '';
  const proxies = pick(random, ['[loopback]', '[private, loopback]', '[192.0.2.0/24]']);
  return `version: 1
identity: { sources: [api_key, user, ip], api_key: { keys: [{ id: one, sha256: ${SHA}, plan: gold }] }, trusted_proxies: ${proxies}, ip: { ipv6_prefixes: ${prefixes} } }
${lists}default: { limits: ${limitsFrom(random)} }
policies:
${policies.join('\n')}
`;
}

/** Out of order, with equal and late stamps, and lines that are not understood. */
function linesFrom(random: Random, count: number): string {
  let startMs = LOG_START_MS;
  const meanGapMs = pick(random, [100, 2_000, 60_000]);
  return Array.from({ length: count }, () => {
    startMs += random() < 0.3 ? 0 : Math.floor(random() * 2 * meanGapMs);
    if (random() < 0.02) return 'no request\n';
    const early = random() < 0.2 ? Math.floor(random() * 90_000) : 0;
    const address = pick(random, random() < 0.7 ? ADDRESSES.slice(0, 9) : ADDRESSES);
    const [method, target] = [pick(random, ['GET', 'POST', 'HEAD', 'post']), pick(random, TARGETS)];
    const host = pick(random, HOSTS);
    const line = combinedLine(logEntry({ startMs: startMs - early, address, target, method }));
    const forwarded = random() < 0.2 ? ` "${pick(random, ADDRESSES)}, 203.0.113.2"` : '';
    return host === undefined ? line.replace('\n', `${forwarded}\n`) : `${host}:80 ${line}`;
  }).join('');
}

function inOrder(text: string): LogEntry[] {
  const entries: LogEntry[] = [];
  const parsing = { zone: 'UTC', timeIs: undefined, fields: [] };
  const stream = new EntryStream(formatNamed('nginx-combined').compile(parsing), {
    ...{ sources: 1, horizonMs: 60_000, keep: (entry: LogEntry) => entry },
  });
  const bytes = Buffer.from(text, 'latin1');
  stream.add({ source: 0, bytes, isLast: true }, (entry) => entries.push(entry));
  stream.finish((entry) => entries.push(entry));
  return entries;
}

/** A limit of a client that has two names is counted under both: once for the client. */
function essence({ decision, wouldDeny, applied, counted, client }: Decided, book: ClientBook) {
  const denied = [decision, ...wouldDeny].map(({ verdict, reason, policy, binding }) =>
    verdict === 'deny'
      ? { reason, policy, limit: binding?.limit.description, state: binding?.state }
      : reason,
  );
  const once = counted.filter(({ source }, i) => source !== counted[i - 1]?.source);
  const limits = once.map(({ source }) => source.description);
  return { denied, applied: applied.map(({ name }) => name), limits, client: book.nameOf(client) };
}

test('decides as the production check does', () => {
  const reasons = new Map<string, number>();
  for (let seed = 1; seed <= rounds(40); seed++) {
    const random = seededRandom(seed * 7_919);
    const policies = policySetFrom(policiesFrom(random));
    const clients = new LogClients(policies, [], 1);
    const [book, asExpected] = [new ClientBook(), new ClientBook()];
    const options = { ...evaluabilityOf(policies.policies, []), policies, clients };
    const fast = new AddressDecider({ ...options, book });
    const judge = new MappedDecider({ ...options, book: asExpected }, new SaltBooks());
    const [tally, expected] = [new Tally(book), new Tally(asExpected)];
    for (const entry of inOrder(linesFrom(random, 300))) {
      const atMs = entry.startMs;
      const client = clients.find(entry);
      const found = client && fast.ask(entry, client).decide(atMs);
      const asked = client && judge.ask(entry, client).decide(atMs);
      // Comparing texts first is ten times as fast.
      const [given, wanted] = [found && essence(found, book), asked && essence(asked, asExpected)];
      if (JSON.stringify(given) !== JSON.stringify(wanted)) {
        expect(given, `seed ${seed}`).toEqual(wanted);
      }
      if (found === undefined || asked === undefined) continue;
      tally.add(found, atMs);
      expected.add(asked, atMs);
      const { reason } = found.decision;
      reasons.set(reason, (reasons.get(reason) ?? 0) + 1);
      if (found.wouldDeny.length > 0) reasons.set('shadow', (reasons.get('shadow') ?? 0) + 1);
    }
    expect({ ...tally }, `seed ${seed}`).toEqual({ ...expected });
  }
  const few = ['blocked', 'exempt', 'malformed_path', 'not_enforced', 'over_limit', 'shadow'];
  expect([...reasons.keys()].sort()).toEqual([...few, 'within_limits']);
});

test('a network that was idle counts again as soon as a new client of it comes', () => {
  const policies = policySetFrom(`version: 1
identity: { sources: [ip], ip: { ipv6_prefixes: { 64: 1x, 48: 2x } } }
default: { limits: [{ rate: 1/1min, algorithm: sliding-window-log }] }
`);
  const clients = new LogClients(policies, [], 1);
  const options = { ...evaluabilityOf(policies.policies, []), policies, clients };
  const decider = new AddressDecider({ ...options, book: new ClientBook() });
  const verdictAt = (nowMs: number, address: string) => {
    const entry = logEntry({ address });
    const client = clients.find(entry);
    return client && decider.ask(entry, client).decide(nowMs).decision.verdict;
  };
  for (let minute = 0; minute < 100; minute++) {
    const nowMs = LOG_START_MS + minute * 90_000;
    const verdicts = [1, 2, 3].map((i) =>
      verdictAt(nowMs + i, `2001:db8:0:${(4 * minute + i).toString(16)}::1`),
    );
    expect(verdicts, `minute ${minute}`).toEqual(['allow', 'allow', 'deny']);
  }
});
