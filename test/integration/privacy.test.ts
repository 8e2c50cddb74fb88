/** A thousand planted keys, tokens, addresses and names, and a search for them in everything that leaves a gateway. */
import { hash } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { beforeAll, describe, expect, test } from 'vitest';
import { type Gateway, startGateway } from '../support/gateway.ts';
import { logEvents, strayLines } from '../support/hostile-volley.ts';
import { call } from '../support/http.ts';
import { freePort } from '../support/process.ts';
import { exchange } from '../support/raw-http.ts';
import { ownRedisIsHere, startRedisInFolder, temporaryFolder } from '../support/redis.ts';
import { IN_MEMORY } from '../support/redis-server.ts';
import { Sentinels, spellings } from '../support/sentinels.ts';
import { waitUntil } from '../support/eventually.ts';

const sentinels = new Sentinels();
const PROXY_SECRET = sentinels.text('proxy secret');
const SALT_SECRET = sentinels.text('secret of the salts of addresses');
const REDIS_PASSWORD = sentinels.text('password of Redis');
const WRONG_PASSWORD = sentinels.text('wrong password of Redis');

type Headers = Record<string, string>;

/** Everything that can name a client, in every header that a dialect or the policy file knows. */
function everyName(): Headers {
  return {
    'x-api-key': sentinels.text('API key'),
    authorization: `Bearer ${sentinels.text('bearer token')}`,
    cookie: `session=${sentinels.text('cookie')}`,
    'user-agent': `Mozilla/5.0 ${sentinels.text('user agent')}`,
    'x-user': sentinels.text('user'),
    'x-tenant': sentinels.text('tenant'),
    'x-real-ip': sentinels.ipv4(),
    'x-headgate-client-ip': sentinels.ipv6(),
    'x-headgate-peer-ip': sentinels.ipv4(),
    'x-forwarded-for': `${sentinels.ipv6()}, ${sentinels.ipv4()}`,
    forwarded: `for=${sentinels.ipv4()}, for="[${sentinels.ipv6()}]:4711"`,
    'cf-connecting-ip': sentinels.ipv4(),
    'fastly-client-ip': sentinels.ipv6(),
  };
}

const CLAIMS = ['x-api-key', 'x-user', 'cf-connecting-ip', 'fastly-client-ip'] as const;
const REPORTED = ['x-real-ip', 'x-headgate-client-ip', 'x-headgate-peer-ip'] as const;

/** The claims from this one on: it is the first that the sources find. */
function without(headers: Headers, ...names: readonly string[]): Headers {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !names.includes(name)));
}

function from(address: string, headers: Headers): Headers {
  return { ...headers, ...Object.fromEntries(REPORTED.map((name) => [name, address])) };
}

/** Each is known by something else. */
const KNOWN_BY: Readonly<Record<string, (names: Headers) => Headers>> = {
  key: (names) => names,
  user: (names) => without(names, 'x-api-key'),
  Cloudflare: (names) => from('173.245.48.9', without(names, ...CLAIMS.slice(0, 2))),
  'another CDN': (names) => from('151.101.0.9', without(names, ...CLAIMS.slice(0, 3))),
  'a list of trusted proxies': (names) => from('10.1.2.3', without(names, ...CLAIMS)),
  'an IPv4 address': (names) => from(sentinels.ipv4(), without(names, ...CLAIMS)),
  'an IPv6 address': (names) => from(sentinels.ipv6(), without(names, ...CLAIMS)),
  'an unreadable address': (names) =>
    from(sentinels.text('junk in place of an address'), without(names, ...CLAIMS)),
};
const VISITORS_EACH = 8;

interface Visitor {
  readonly headers: Headers;
  readonly query: string;
  readonly body: string;
}

const visitors: readonly Visitor[] = Object.values(KNOWN_BY).flatMap((known) =>
  Array.from({ length: VISITORS_EACH }, () => ({
    headers: known(everyName()),
    query: `?token=${sentinels.text('query')}&next=%2F${sentinels.text('query')}`,
    body: `{"password":"${sentinels.text('body')}"}`,
  })),
);

const [LISTED, EXEMPT, BLOCKED] = ['listed', 'exempt', 'blocked'].map((kind) =>
  sentinels.text(`${kind} API key`),
) as [string, string, string];
const EXEMPT_ADDRESS = sentinels.ipv4('exempt address');
const BLOCKED_ADDRESS = sentinels.ipv6('blocked address');

function withKey(key: string): Visitor {
  const [{ headers, query, body }] = visitors as [Visitor];
  return { headers: { ...headers, 'x-api-key': key }, query, body };
}

function withAddress(address: string): Visitor {
  const { query, body } = visitors[0] as Visitor;
  return { headers: from(address, without(everyName(), ...CLAIMS)), query, body };
}

const guests: readonly Visitor[] = [
  withKey(LISTED),
  withKey(EXEMPT),
  withKey(BLOCKED),
  withAddress(EXEMPT_ADDRESS),
  withAddress(BLOCKED_ADDRESS),
];

/** Every algorithm, every share, every period of salts, and every way to go on without Redis. */
function policyFile(keyHeader: string): string {
  const key = (id: string, text: string) => `{ id: ${id}, sha256: ${hash('sha256', text)} }`;
  return `
version: 1
identity:
  sources: [api_key, user, cf_connecting_ip, { header: fastly-client-ip, from: [151.101.0.0/16] }, ip]
  api_key:
    header: ${keyHeader}
    keys: [${key('a', LISTED)}, ${key('b', EXEMPT)}, ${key('c', BLOCKED)}]
  trusted_proxies: [loopback, 10.0.0.0/8]
  ip: { ipv6_prefixes: { 64: 1x, 48: 9x } }
exempt: [{ key: b }, ${EXEMPT_ADDRESS}]
block: [{ key: c }, "${BLOCKED_ADDRESS}"]
default:
  limits:
    - 2/1h
    - { rate: 1000/1h, per: "header:x-tenant", algorithm: sliding-window-counter }
    - { rate: 1000/1min, per: ip, algorithm: token-bucket }
policies:
  - { name: closed, match: { path: /closed }, limits: [1000/2d], on_store_failure: deny }
  - { name: local, match: { path: /local }, limits: [2/1h], on_store_failure: local }
`;
}

/** Keys where somebody in a hurry may put them. */
function brokenPolicyFiles(): string[] {
  const key = () => sentinels.text('API key in a broken policy file');
  const start = 'version: 1\ndefault: { limits: [5/1h] }\n';
  return [
    `${start}identity: { api_key: { keys: [{ id: a, sha256: ${key()} }] } }`,
    `${start}identity: { api_key: { keys: [${key()}] } }`,
    `${start}identity: { api_key: { keys: { a: ${key()} } } }`,
    `${start}identity: { api_key: { header: x-api-key, keys: [{ id: a, key: ${key()} }] } }`,
    `${start}identity: { api_key: { keys: [{ id: a, sha256: "${key()} } ] } }`,
    `${start}# ${key()}\n  bad: [`,
  ];
}

/** How each proxy says it. */
const DIALECTS: Readonly<Record<string, (gateway: Gateway, target: string, headers: Headers, body: string) => ReturnType<typeof call>>> = {
  envoy: (gateway, target, headers, body) =>
    call(gateway.url, `/envoy${target}`, { method: 'POST', headers, body }),
  nginx: (gateway, target, headers) =>
    call(gateway.url, '/nginx', { headers: { ...headers, 'x-original-method': 'POST', 'x-original-uri': target } }),
  caddy: (gateway, target, headers) =>
    call(gateway.url, '/caddy', { headers: { ...headers, 'x-forwarded-method': 'POST', 'x-forwarded-uri': target } }),
  'no dialect': (gateway, target, headers, body) =>
    call(gateway.url, `/nowhere${target}`, { method: 'POST', headers, body }),
};

interface Answers {
  /** Each once. */
  readonly texts: Set<string>;
  readonly kinds: Set<string>;
}

async function askAll(gateway: Gateway, paths: readonly string[], { texts, kinds }: Answers): Promise<void> {
  const secret = { 'x-headgate-secret': PROXY_SECRET };
  const questions = [...visitors, ...guests].flatMap(({ headers, query, body }) =>
    paths.flatMap((path) =>
      Object.values(DIALECTS).map((ask) => () => ask(gateway, path + query, { ...headers, ...secret }, body)),
    ),
  );
  for (const answer of await Promise.all(questions.map((ask) => ask()))) {
    texts.add(JSON.stringify(answer));
    kinds.add(`${answer.status} ${answer.headers['x-ratelimit-mode'] ?? ''}`.trim());
  }
}
