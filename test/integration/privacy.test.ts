/** Plants over a thousand keys, tokens, addresses and names, and searches for them in everything that leaves a gateway. */
import { hash } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { Redis } from 'ioredis';
import { beforeAll, describe, expect, test } from 'vitest';
import { HTTP_FIXTURES } from '../fixtures/proxies/index.ts';
import { logEvents, strayLines } from '../scenarios/hostile/run.ts';
import { waitUntil } from '../support/eventually.ts';
import {
  type Gateway,
  type GatewayProcess,
  startGateway,
  startGatewayProcess,
} from '../support/gateway.ts';
import { call, type HttpAnswer } from '../support/http.ts';
import { freePort } from '../support/ports.ts';
import { lineOf, type ProxyFixture } from '../support/proxy-fixture.ts';
import { exchange } from '../support/raw-http.ts';
import { ownRedisIsHere, startRedisInFolder, temporaryFolder } from '../support/redis.ts';
import { IN_MEMORY } from '../support/redis-server.ts';
import { temporaryFile } from '../support/temporary.ts';
import { Sentinels, spellings } from './support/sentinels.ts';

const sentinels = new Sentinels();
const PROXY_SECRET = sentinels.text('proxy secret');
const ADMIN_TOKEN = sentinels.text('admin token');
const SALT_SECRET = sentinels.text('secret for the salts of addresses');
const REDIS_PASSWORD = sentinels.text('password of Redis');
const WRONG_PASSWORD = sentinels.text('wrong password of Redis');

type Headers = Record<string, string>;

/** A new value for everything that can name a client, in every header that a dialect or the policy file reads. */
function everyName(): Headers {
  return {
    'x-api-key': sentinels.text('API key'),
    authorization: `Bearer ${sentinels.text('bearer token')}`,
    cookie: `session=${sentinels.text('cookie')}`,
    'user-agent': `Mozilla/5.0 ${sentinels.text('user agent')}`,
    'x-user': sentinels.name('user'),
    'x-tenant': sentinels.name('tenant'),
    'x-real-ip': sentinels.ipv4(),
    'x-headgate-client-ip': sentinels.ipv6(),
    'x-headgate-peer-ip': sentinels.ipv4(),
    'x-forwarded-for': `${sentinels.ipv6()}, ${sentinels.ipv4()}`,
    forwarded: `for=${sentinels.ipv4()}, for="[${sentinels.ipv6()}]:4711"`,
    'cf-connecting-ip': sentinels.ipv4(),
    'fastly-client-ip': sentinels.ipv6(),
    'mcp-protocol-version': '2026-07-28',
    'mcp-method': 'tools/call',
    'mcp-name': sentinels.text('name of a tool'),
  };
}

/** In the order of the sources. */
const CLAIMS = ['x-api-key', 'x-user', 'cf-connecting-ip', 'fastly-client-ip'] as const;
const REPORTED = ['x-real-ip', 'x-headgate-client-ip', 'x-headgate-peer-ip'] as const;

function without(headers: Headers, ...names: readonly string[]): Headers {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !names.includes(name)));
}

function from(address: string, headers: Headers): Headers {
  return { ...headers, ...Object.fromEntries(REPORTED.map((name) => [name, address])) };
}

/** How a client is identified: by the first source that finds it. The headers of earlier sources are left out. */
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

/** Uses every algorithm, every kind of partition, both periods of salts, and every on_store_failure. */
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
    - { rate: 10000/month, per: ip, zone: Europe/Zurich }
policies:
  - { name: closed, match: { path: /closed }, limits: [1000/2d], on_store_failure: deny }
  - { name: local, match: { path: /local }, limits: [2/1h], on_store_failure: local }
  - { name: tool, match: { path: /mcp, mcp: { method: tools/call, name: "*" } }, limits: [2/1h] }
  - { name: rest, match: { path: /mcp, mcp: { method: none } }, limits: [2/1h] }
`;
}

/** API keys in wrong places of policy files. */
function brokenPolicyFiles(): string[] {
  const key = () => sentinels.text('API key in a broken policy file');
  const start = 'version: 1\ndefault: { limits: [5/1h] }\n';
  return [
    `${start}identity: { api_key: { keys: [{ id: a, sha256: ${key()} }] } }`,
    `${start}identity: { api_key: { keys: [${key()}] } }`,
    `${start}identity: { api_key: { keys: { a: ${key()} } } }`,
    `${start}identity: { api_key: { header: x-api-key, keys: [{ id: a, key: ${key()} }] } }`,
    `${start}identity: { api_key: { keys: [{ id: a, sha256: "${key()} } ] } }`,
    `${start}identity: { api_key: { keys: [{ ${key()}: a }] } }`,
    `${start}block: [{ key: ${key()} }]`,
    `${start}exempt: [${key()}]`,
    `${start}# ${key()}\n  bad: [`,
  ];
}

type Send = (
  gateway: Gateway,
  target: string,
  headers: Headers,
  body: string,
) => Promise<HttpAnswer>;

/** Sends a check as a proxy does. Envoy also passes on the body. */
function throughProxy(fixture: ProxyFixture): Send {
  return (gateway, target, headers, body) => {
    const line = lineOf(fixture, 'POST', target);
    const sent = { method: line.method, headers: { ...headers, ...line.headers } };
    return call(gateway.url, line.path, { ...sent, ...(line.method === 'POST' && { body }) });
  };
}

/** All proxies, and a path of none. */
const SENDERS: readonly Send[] = [
  ...Object.values(HTTP_FIXTURES).map(throughProxy),
  (gateway, target, headers, body) =>
    call(gateway.url, `/nowhere${target}`, { method: 'POST', headers, body }),
];
/** Each client uses some proxies. The clients of each kind together use all of them. */
const SENDERS_EACH = 3;

function sendersOf(client: number): Send[] {
  return Array.from(
    { length: SENDERS_EACH },
    (_, i) => SENDERS[(client + i * 2) % SENDERS.length] as Send,
  );
}

interface Answers {
  /** Each once. */
  readonly texts: Set<string>;
  readonly kinds: Set<string>;
}

async function queryAll(
  gateway: Gateway,
  paths: readonly string[],
  { texts, kinds }: Answers,
): Promise<void> {
  const secret = { 'x-headgate-secret': PROXY_SECRET };
  const sent = [...visitors, ...guests].flatMap(({ headers, query, body }, client) =>
    paths.flatMap((path) =>
      sendersOf(client).map((send) => send(gateway, path + query, { ...headers, ...secret }, body)),
    ),
  );
  for (const answer of await Promise.all(sent)) {
    texts.add(JSON.stringify(answer));
    kinds.add(`${answer.status} ${answer.headers['x-ratelimit-mode'] ?? ''}`.trim());
  }
}

/** Bytes that end lines, move cursors or are not text. One character stands for one byte. */
const ODD_BYTES = [
  ...['\x1b[31m', '\x07', '\0', '\x9b2J', '\x7f'],
  ...['\xff\xfe', '\xc0\xaf', '\xe2\x80\xa8', '\xef\xbb\xbf'],
  ...['\r\n{"level":30}\r\n', '\n{}\n', '\r', '\r\n\t'],
];

/** Requests with odd bytes in every part. */
function oddRequests(): Buffer[] {
  const key = () => sentinels.text('API key among odd bytes');
  const end = `X-Headgate-Secret: ${PROXY_SECRET}\r\nConnection: close\r\n\r\n`;
  return ODD_BYTES.flatMap((odd) => [
    `GET /envoy/${key()}${odd}x HTTP/1.1\r\nHost: a\r\n`,
    `GET /envoy/x HTTP/1.1\r\nHost: a\r\nX-Api-Key: ${key()}${odd}\r\n`,
    `GET /envoy/x HTTP/1.1\r\nHost: a\r\nX-Headgate-Client-IP: ${odd}${sentinels.ipv4()}\r\n`,
    `GET /nginx HTTP/1.1\r\nHost: a\r\nX-Original-URI: /${odd}${key()}\r\nX-Original-Method: ${odd}\r\n`,
    `${key()}${odd} /envoy HTTP/1.1\r\nHost: a\r\n`,
  ]).map((head) => Buffer.from(head + end, 'latin1'));
}

const READERS: Readonly<Record<string, readonly [command: string, ...args: string[]]>> = {
  string: ['GET'],
  list: ['LRANGE', '0', '-1'],
  hash: ['HGETALL'],
  set: ['SMEMBERS'],
  zset: ['ZRANGE', '0', '-1', 'WITHSCORES'],
};

/** All keys and all values, of every type. */
async function contentsOf(client: Redis): Promise<string> {
  const texts = await Promise.all((await client.keys('*')).map((key) => contentOf(client, key)));
  return texts.flat().join('\n');
}

async function contentOf(client: Redis, key: string): Promise<string[]> {
  const type = await client.type(key);
  // The key has expired meanwhile.
  if (type === 'none') return [];
  const [command, ...args] = READERS[type] ?? [];
  if (command === undefined) throw new Error(`no command reads a ${type}`);
  const value: unknown = await client.callBuffer(command, key, ...args);
  return [key, ...[value].flat(2).map((part) => (part as Buffer | null)?.toString('latin1') ?? '')];
}

const OPS_PATHS = ['/livez', '/readyz', '/metrics'];

/** The answers of the ops server to a call without the token. */
async function callOps({ opsUrl }: Gateway, paths = OPS_PATHS): Promise<string> {
  const query = `?token=${sentinels.text('query of an operator')}`;
  const { headers } = visitors[0] as Visitor;
  const answers = await Promise.all(paths.map((path) => call(opsUrl, path + query, { headers })));
  return answers.map((answer) => JSON.stringify(answer)).join('\n');
}

/** Starts Redis with a password, and gateways with random salts, with derived salts, and with a wrong password. */
async function startAll(lab: AsyncDisposableStack) {
  const file = temporaryFile(lab, policyFile('x-api-key'));
  const port = await freePort();
  const args = ['--port', String(port), ...IN_MEMORY, '--requirepass', REDIS_PASSWORD];
  const redis = lab.use(await startRedisInFolder(temporaryFolder(), port, args));
  const settings = (password: string) => ({
    HEADGATE_POLICIES: file,
    HEADGATE_REDIS_URL: `redis://default:${encodeURIComponent(password)}@127.0.0.1:${port}`,
    // Redis must be in time while it runs, also on a busy machine.
    HEADGATE_STORE_TIMEOUT_MS: '1000',
    HEADGATE_PROXY_SECRET: PROXY_SECRET,
    HEADGATE_ADMIN_TOKEN: ADMIN_TOKEN,
    HEADGATE_LOG_LEVEL: 'trace',
  });
  const derived = { ...settings(REDIS_PASSWORD), HEADGATE_IP_SALT_SECRET: SALT_SECRET };
  // All that a process prints is searched, also what is not from the log.
  const [first, withDerivedSalts, withWrongPassword] = await Promise.all([
    startGatewayProcess(settings(REDIS_PASSWORD)).then((gateway) => lab.use(gateway)),
    startGateway(derived).then((gateway) => lab.use(gateway)),
    startGatewayProcess(settings(WRONG_PASSWORD)).then((gateway) => lab.use(gateway)),
  ]);
  return { redis, first, gateways: [first, withDerivedSalts, withWrongPassword], file };
}

async function sendWrongSecrets({ url }: Gateway, { texts }: Answers): Promise<void> {
  const sent = visitors.map(({ headers, query }) => {
    const secret = { 'x-headgate-secret': sentinels.text('wrong proxy secret') };
    return call(url, `/envoy/${query}`, { headers: { ...headers, ...secret } });
  });
  for (const answer of await Promise.all(sent)) texts.add(JSON.stringify(answer));
}

async function reload(gateway: GatewayProcess, file: string, text: string): Promise<void> {
  const reloads = () =>
    logEvents(gateway.output()).filter(({ event }) => /^policies_(loaded|refused)$/.test(event));
  const before = reloads().length;
  writeFileSync(file, text);
  gateway.signal('SIGHUP');
  await waitUntil('the policy file is reloaded', async () => reloads().length > before);
}

describe.skipIf(!ownRedisIsHere)('no secret and nothing that names a client', () => {
  const places: Record<string, string> = {};
  const outputs: string[] = [];
  const answers: Answers = { texts: new Set(), kinds: new Set() };
  let salts: string[] = [];

  beforeAll(async () => {
    await using lab = new AsyncDisposableStack();
    const { redis, first, gateways, file } = await startAll(lab);
    const opsAnswers: string[] = [];
    for (const gateway of gateways) {
      await queryAll(gateway, ['/', '/closed', '/mcp', '/%00'], answers);
      opsAnswers.push(await callOps(gateway));
    }
    const odd = await Promise.all(oddRequests().map((bytes) => exchange(first.url, bytes)));
    for (const answer of odd) answers.texts.add(answer);
    await sendWrongSecrets(first, answers);
    for (const text of brokenPolicyFiles()) await reload(first, file, text);
    await reload(first, file, policyFile('authorization'));
    await queryAll(first, ['/'], answers);
    places['answers to unknown paths of the ops server'] = await callOps(first, ['/nowhere']);

    const client = new Redis({ port: redis.port, password: REDIS_PASSWORD });
    lab.defer(() => client.disconnect());
    places['keys and values of Redis'] = await contentsOf(client);
    salts = (await client.mget(await client.keys('hg:v1:salt:*'))).filter((salt) => salt !== null);
    client.disconnect();
    await redis.stop('SIGKILL');
    for (const gateway of gateways) {
      await queryAll(gateway, ['/', '/closed', '/local'], answers);
      opsAnswers.push(await callOps(gateway));
      await gateway.stop();
      outputs.push(gateway.output());
    }
    const lines = outputs.join('\n').split('\n');
    const isRefusal = (line: string) => line.includes('"event":"policies_refused"');
    places.answers = [...answers.texts].join('\n');
    places['answers of the ops server'] = opsAnswers.join('\n');
    places.logs = lines.filter((line) => !isRefusal(line)).join('\n');
    places['log lines about broken policy files'] = lines.filter(isRefusal).join('\n');
  });

  test('is missing from the search: over a thousand values are planted', () => {
    expect(sentinels.count).toBeGreaterThan(1_000);
  });
  test.each([
    ...['answers', 'answers of the ops server', 'answers to unknown paths of the ops server'],
    ...['logs', 'log lines about broken policy files', 'keys and values of Redis'],
  ])('is found in the %s', (place) => {
    expect(places[place]?.length).toBeGreaterThan(100);
    expect(sentinels.findIn(places[place] ?? '')).toEqual([]);
  });
  test('is missing from the search for lack of counts: users and header values were counted', () => {
    for (const kind of ['u', 'h']) {
      expect(places['keys and values of Redis']).toMatch(new RegExp(`\\{${kind}\\.[\\w-]{22}\\}`));
    }
    expect(places.logs).toMatch(/"u\.[\w-]{22}"/);
  });
  test('is readable with the salts, which are only in Redis', () => {
    expect(salts.length).toBeGreaterThan(2);
    const elsewhere = Object.entries(places).filter(([place]) => !place.includes('Redis'));
    for (const [place, text] of elsewhere) {
      expect(
        salts.some((salt) => text.includes(salt)),
        place,
      ).toBe(false);
    }
  });
  test('is in any kind of answer: all kinds were seen', () => {
    expect([...answers.kinds].sort()).toEqual([
      ...['200', '200 local', '200 open', '400', '403', '403 local', '404'],
      ...['429', '429 closed', '429 local'],
    ]);
    for (const verdict of ['allow', 'deny', 'exempt', 'blocked', 'error_allow', 'error_deny'])
      expect(places['answers of the ops server']).toContain(`verdict=\\"${verdict}\\"`);
  });
  test('is missing from the search for lack of MCP calls: tools were called, and denied', () => {
    expect(places.answers).toContain('\\"jsonrpc\\":\\"2.0\\"');
    expect(places.logs).toContain('"policy":"tool"');
    expect(places.logs).not.toContain('"policy":"rest"');
    expect(places['answers of the ops server']).toContain('policy=\\"tool\\"');
  });
  test('is in log lines about failures: all kinds were seen', () => {
    const events = new Set(outputs.flatMap(logEvents).map(({ event }) => event));
    expect([...events]).toEqual(
      expect.arrayContaining([
        ...['proxy_misconfigured', 'stranger_refused', 'policies_refused', 'policies_loaded'],
        ...['store_failed', 'others_unheard', 'store_connection_failed'],
      ]),
    );
  });
  test('breaks a log line: each line is an event, whatever bytes were sent', () => {
    expect(outputs.flatMap(strayLines)).toEqual([]);
  });
});

test('the search finds planted values in any encoding, within other text, and in part', () => {
  const planted = new Sentinels();
  const values = [planted.text('key'), planted.ipv4(), planted.ipv6()];
  for (const value of values) {
    for (const text of [...Object.values(spellings(value)), hash('sha256', value)]) {
      expect(planted.findIn(`"${text.toUpperCase()}"`), text).not.toEqual([]);
    }
    for (const before of ['', 'a', 'ab', 'abc']) {
      const encoded = Buffer.from(`${before}${value}!`).toString('base64');
      expect(planted.findIn(encoded), encoded).not.toEqual([]);
    }
  }
  expect(planted.findIn(String(values[0]).slice(0, -3))).not.toEqual([]);
  const user = planted.name('user');
  for (const encoding of ['hex', 'base64', 'base64url'] as const) {
    const shortened = hash('sha256', user, encoding).slice(0, 22);
    expect(planted.findIn(`u.${shortened}`), encoding).not.toEqual([]);
  }
  expect(planted.findIn('198.51.100.7 2001:db8::1 c2VudGluZWw= key')).toEqual([]);
});
