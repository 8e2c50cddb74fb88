/** A thousand planted keys, tokens, addresses and names, and a search for them in everything that leaves a gateway. */
import { hash } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { beforeAll, describe, expect, test } from 'vitest';
import { logEvents, strayLines } from '../scenarios/hostile/run.ts';
import { waitUntil } from '../support/eventually.ts';
import { type GatewayProcess, startGatewayProcess } from '../support/gateway.ts';
import { call, type HttpAnswer } from '../support/http.ts';
import { freePort } from '../support/ports.ts';
import { exchange } from '../support/raw-http.ts';
import { ownRedisIsHere, startRedisInFolder, temporaryFolder } from '../support/redis.ts';
import { IN_MEMORY } from '../support/redis-server.ts';
import { Sentinels, spellings } from '../support/sentinels.ts';

const sentinels = new Sentinels();
const PROXY_SECRET = sentinels.text('proxy secret');
const ADMIN_TOKEN = sentinels.text('token of operators');
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

/** In the order of the sources. */
const CLAIMS = ['x-api-key', 'x-user', 'cf-connecting-ip', 'fastly-client-ip'] as const;
const REPORTED = ['x-real-ip', 'x-headgate-client-ip', 'x-headgate-peer-ip'] as const;

function without(headers: Headers, ...names: readonly string[]): Headers {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !names.includes(name)));
}

function from(address: string, headers: Headers): Headers {
  return { ...headers, ...Object.fromEntries(REPORTED.map((name) => [name, address])) };
}

/** By which of their names they are known: the first that the sources find, so those before it are left out. */
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
    `${start}identity: { api_key: { keys: [{ ${key()}: a }] } }`,
    `${start}block: [{ key: ${key()} }]`,
    `${start}exempt: [${key()}]`,
    `${start}# ${key()}\n  bad: [`,
  ];
}

type Ask = (
  gateway: GatewayProcess,
  target: string,
  headers: Headers,
  body: string,
) => Promise<HttpAnswer>;

/** How each proxy says it. */
const DIALECTS: Readonly<Record<string, Ask>> = {
  envoy: (gateway, target, headers, body) =>
    call(gateway.url, `/envoy${target}`, { method: 'POST', headers, body }),
  nginx: (gateway, target, headers) =>
    call(gateway.url, '/nginx', {
      headers: { ...headers, 'x-original-method': 'POST', 'x-original-uri': target },
    }),
  caddy: (gateway, target, headers) =>
    call(gateway.url, '/caddy', {
      headers: { ...headers, 'x-forwarded-method': 'POST', 'x-forwarded-uri': target },
    }),
  'no dialect': (gateway, target, headers, body) =>
    call(gateway.url, `/nowhere${target}`, { method: 'POST', headers, body }),
};

interface Answers {
  /** Each once. */
  readonly texts: Set<string>;
  readonly kinds: Set<string>;
}

async function queryAll(
  gateway: GatewayProcess,
  paths: readonly string[],
  { texts, kinds }: Answers,
): Promise<void> {
  const secret = { 'x-headgate-secret': PROXY_SECRET };
  const questions = [...visitors, ...guests].flatMap(({ headers, query, body }) =>
    paths.flatMap((path) =>
      Object.values(DIALECTS).map(
        (ask) => () => ask(gateway, path + query, { ...headers, ...secret }, body),
      ),
    ),
  );
  for (const answer of await Promise.all(questions.map((ask) => ask()))) {
    texts.add(JSON.stringify(answer));
    kinds.add(`${answer.status} ${answer.headers['x-ratelimit-mode'] ?? ''}`.trim());
  }
}

/** Bytes that end lines, move cursors or are no text, one character a byte. */
const ODD_BYTES = [
  ...['\x1b[31m', '\x07', '\0', '\x9b2J', '\x7f'],
  ...['\xff\xfe', '\xc0\xaf', '\xe2\x80\xa8', '\xef\xbb\xbf'],
  ...['\r\n{"level":30}\r\n', '\n{}\n', '\r', '\r\n\t'],
];

/** Wherever a request has room for them. */
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

/** All keys and all values, of whatever type. */
async function contentsOf(client: Redis): Promise<string> {
  const texts: string[] = [];
  for (const key of await client.keys('*')) {
    const type = await client.type(key);
    // Its window was over meanwhile.
    if (type === 'none') continue;
    const [command, ...args] = READERS[type] ?? [];
    if (command === undefined) throw new Error(`nobody reads a ${type}`);
    const value: unknown = await client.callBuffer(command, key, ...args);
    texts.push(
      key,
      ...[value].flat(2).map((part) => (part as Buffer | null)?.toString('latin1') ?? ''),
    );
  }
  return texts.join('\n');
}

const OPERATORS_PATHS = ['/livez', '/readyz', '/metrics'];

/** What operators see, and whoever else finds their port. */
async function askOperators({ opsUrl }: GatewayProcess, paths = OPERATORS_PATHS): Promise<string> {
  const query = `?token=${sentinels.text('query of operators')}`;
  const { headers } = visitors[0] as Visitor;
  const answers = await Promise.all(paths.map((path) => call(opsUrl, path + query, { headers })));
  return answers.map((answer) => JSON.stringify(answer)).join('\n');
}

/** A Redis with a password, and gateways with random salts, with derived ones, and with another password. */
async function startAll(lab: AsyncDisposableStack) {
  const folder = mkdtempSync(join(tmpdir(), 'headgate-privacy-'));
  lab.defer(() => rmSync(folder, { recursive: true }));
  const file = join(folder, 'policies.yaml');
  writeFileSync(file, policyFile('x-api-key'));
  const port = await freePort();
  const args = ['--port', String(port), ...IN_MEMORY, '--requirepass', REDIS_PASSWORD];
  const redis = lab.use(await startRedisInFolder(temporaryFolder(), port, args));
  const start = async (password: string, env: NodeJS.ProcessEnv = {}) =>
    lab.use(
      await startGatewayProcess({
        HEADGATE_POLICIES: file,
        HEADGATE_REDIS_URL: `redis://default:${encodeURIComponent(password)}@127.0.0.1:${port}`,
        // Every answer before the end is to be measured, also on a busy machine.
        HEADGATE_STORE_TIMEOUT_MS: '1000',
        HEADGATE_PROXY_SECRET: PROXY_SECRET,
        HEADGATE_ADMIN_TOKEN: ADMIN_TOKEN,
        HEADGATE_LOG_LEVEL: 'trace',
        ...env,
      }),
    );
  const gateways = [
    await start(REDIS_PASSWORD),
    await start(REDIS_PASSWORD, { HEADGATE_IP_SALT_SECRET: SALT_SECRET }),
    await start(WRONG_PASSWORD),
  ] as const;
  return { redis, gateways, file };
}

async function askWithWrongSecret({ url }: GatewayProcess, { texts }: Answers): Promise<void> {
  for (const { headers, query } of visitors) {
    const secret = { 'x-headgate-secret': sentinels.text('wrong proxy secret') };
    texts.add(
      JSON.stringify(await call(url, `/envoy/${query}`, { headers: { ...headers, ...secret } })),
    );
  }
}

async function reload(gateway: GatewayProcess, file: string, text: string): Promise<void> {
  const reloads = () =>
    logEvents(gateway.output()).filter(({ event }) => /^policies_(loaded|refused)$/.test(event));
  const before = reloads().length;
  writeFileSync(file, text);
  gateway.signal('SIGHUP');
  await waitUntil('the policy file was read again', async () => reloads().length > before);
}

describe.skipIf(!ownRedisIsHere)('of all that names a client or is a secret', () => {
  const places: Record<string, string> = {};
  const outputs: string[] = [];
  const answers: Answers = { texts: new Set(), kinds: new Set() };
  let salts: string[] = [];

  beforeAll(async () => {
    await using lab = new AsyncDisposableStack();
    const { redis, gateways, file } = await startAll(lab);
    const [first] = gateways;
    const forOperators: string[] = [];
    for (const gateway of gateways) {
      await queryAll(gateway, ['/', '/closed', '/%00'], answers);
      forOperators.push(await askOperators(gateway));
    }
    for (const bytes of oddRequests()) answers.texts.add(await exchange(first.url, bytes));
    await askWithWrongSecret(first, answers);
    for (const text of brokenPolicyFiles()) await reload(first, file, text);
    await reload(first, file, policyFile('authorization'));
    await queryAll(first, ['/'], answers);
    places['answers about what operators have not'] = await askOperators(first, ['/nowhere']);

    const client = new Redis({ port: redis.port, password: REDIS_PASSWORD });
    lab.defer(() => client.disconnect());
    places['keys and values of Redis'] = await contentsOf(client);
    salts = (await client.mget(await client.keys('hg:v1:salt:*'))).filter((salt) => salt !== null);
    client.disconnect();
    await redis.stop('SIGKILL');
    for (const gateway of gateways) {
      await queryAll(gateway, ['/', '/closed', '/local'], answers);
      forOperators.push(await askOperators(gateway));
      await gateway.stop();
      outputs.push(gateway.output());
    }
    const lines = outputs.join('\n').split('\n');
    const isRefusal = (line: string) => line.includes('"event":"policies_refused"');
    places.answers = [...answers.texts].join('\n');
    places['answers for operators'] = forOperators.join('\n');
    places.logs = lines.filter((line) => !isRefusal(line)).join('\n');
    places['log lines about broken policy files'] = lines.filter(isRefusal).join('\n');
  });

  test('a thousand and more are planted', () => {
    expect(sentinels.count).toBeGreaterThan(1_000);
  });
  test.each([
    ...['answers', 'answers for operators', 'answers about what operators have not'],
    ...['logs', 'log lines about broken policy files', 'keys and values of Redis'],
  ])('nothing is found in the %s', (place) => {
    expect(places[place]?.length).toBeGreaterThan(100);
    expect(sentinels.findIn(places[place] ?? '')).toEqual([]);
  });
  test('and salts are in Redis alone', () => {
    expect(salts.length).toBeGreaterThan(2);
    const elsewhere = Object.entries(places).filter(([place]) => !place.includes('Redis'));
    for (const [place, text] of elsewhere) {
      expect(
        salts.some((salt) => text.includes(salt)),
        place,
      ).toBe(false);
    }
  });
  test('although requests ended in every way', () => {
    expect([...answers.kinds].sort()).toEqual([
      ...['200', '200 local', '200 open', '400', '403', '404'],
      ...['429', '429 closed', '429 local'],
    ]);
    for (const verdict of ['allow', 'deny', 'exempt', 'blocked', 'error_allow', 'error_deny'])
      expect(places['answers for operators']).toContain(`verdict=\\"${verdict}\\"`);
  });
  test('although the logs tell of failures', () => {
    const events = new Set(outputs.flatMap(logEvents).map(({ event }) => event));
    expect([...events]).toEqual(
      expect.arrayContaining([
        ...['proxy_misconfigured', 'stranger_refused', 'policies_refused', 'policies_loaded'],
        ...['store_failed', 'others_unheard', 'store_connection_failed'],
      ]),
    );
  });
  test('every line of the logs is an event, whatever bytes came', () => {
    expect(outputs.flatMap(strayLines)).toEqual([]);
  });
});

test('the search sees a planted value in any spelling, amid anything, and even a part of it', () => {
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
  expect(planted.findIn('198.51.100.7 2001:db8::1 c2VudGluZWw= key')).toEqual([]);
});
