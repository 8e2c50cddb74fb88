/** What clients see behind a replay of Traefik, and behind the real program if it is installed. */
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { Agent, createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, test } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import { type Gateway, startGateway, startGatewayProcess } from '../support/gateway.ts';
import { call, statuses } from '../support/http.ts';
import type { RunningProxy } from '../support/proxies.ts';
import { answerTo, statusOf } from '../support/raw-http.ts';
import { realTraefik } from '../support/traefik.ts';
import { replayTraefik } from '../support/traefik-replay.ts';
import { startUpstream, type Upstream } from '../support/upstream.ts';
import { expectDeniedLogin } from './support/denied-login.ts';

const LOGIN = '/api/auth/login';
/** No policy refuses its requests while the gateway is down. */
const UPLOAD = '/api/upload';
const FIVE = [200, 200, 200, 200, 200];
const DEPLOY = new URL('../../deploy/traefik/', import.meta.url);

const real = await realTraefik();
const TRAEFIKS = [
  { name: 'a replay of Traefik', start: replayTraefik },
  ...(real === undefined ? [] : [{ name: 'Traefik', start: real }]),
];

interface SetUp {
  readonly secret?: string;
  /** Ports of stand-ins. */
  readonly application?: number;
  readonly headgate?: number;
  readonly hasShippedTimeouts?: boolean;
  readonly changes?: Readonly<Record<string, string>>;
}

describe.each(TRAEFIKS)('$name', ({ start }) => {
  let gateway: Gateway;
  let upstream: Upstream;
  let proxy: RunningProxy;

  async function setUp({ secret, application, headgate, ...rest }: SetUp = {}) {
    const env = secret === undefined ? {} : { HEADGATE_PROXY_SECRET: secret };
    gateway = await startGateway(env);
    upstream = await startUpstream();
    const ports = {
      application: application ?? upstream.port,
      headgate: headgate ?? gateway.port,
    };
    proxy = await start({ ...ports, ...rest, secret });
  }

  afterEach(async () => {
    await proxy[Symbol.asyncDispose]();
    await upstream[Symbol.asyncDispose]();
    await gateway[Symbol.asyncDispose]();
  });

  const login = (headers: Record<string, string> = {}, path = LOGIN) =>
    call(proxy.url, path, { method: 'POST', headers });

  test('denies the sixth login with all headers', async () => {
    await setUp();
    expect(await statuses(5, () => login())).toEqual(FIVE);
    expectDeniedLogin(await login());
    expect(upstream.seen).toHaveLength(5);
  });

  test('shows no rate-limit headers on an allowed request, neither of headgate nor of the application', async () => {
    await setUp();
    const answer = await login();
    expect(answer).toMatchObject({ status: 200, body: 'the application' });
    const names = answer.rawHeaders.filter((_, i) => i % 2 === 0);
    expect(names.filter((name) => /ratelimit/i.test(name))).toEqual([]);
    const forbidden = await call(proxy.url, '/forbidden');
    expect(forbidden).toMatchObject({ status: 403, body: 'the application' });
  });

  test('passes a request body unchanged, and sends none to headgate', async () => {
    await setUp();
    const body = Buffer.alloc(20_000_000, 'headgate ');
    const upload = () => call(proxy.url, '/api/upload', { method: 'POST', body });
    expect((await upload()).status).toBe(200);
    expect(upstream.seen[0]).toMatchObject({
      method: 'POST',
      url: '/api/upload',
      bytes: body.length,
      sha256: createHash('sha256').update(body).digest('hex'),
    });
    const small = () => call(proxy.url, '/api/upload', { method: 'POST', body: 'small' });
    await statuses(9, small);
    expect((await upload()).status).toBe(429);
    expect(upstream.seen).toHaveLength(10);
  });

  test('ignores what a client sends in the headers of Traefik', async () => {
    await setUp();
    const forged = (i: number) =>
      login({
        'X-Forwarded-For': `203.0.113.${i}`,
        'X-Forwarded-Uri': '/free',
        'X-Forwarded-Method': 'GET',
        'X-Forwarded-Host': 'free.example',
        'X-Forwarded-Prefix': '/free',
        X_Forwarded_For: `203.0.113.${i}`,
        X_Forwarded_Uri: '/free',
        X_Forwarded_Method: 'GET',
        'X.Forwarded.Uri': '/free',
        'X.Forwarded.For': `203.0.113.${i}`,
        Forwarded: `for=203.0.113.${i}`,
        'X-Real-IP': `203.0.113.${i}`,
        'X-Original-URI': '/free',
        'X-Headgate-Peer-IP': '173.245.48.5',
        'X-Headgate-Client-IP': `203.0.113.${i}`,
        'CF-Connecting-IP': `203.0.113.${i}`,
        'X-HTTP-Method-Override': 'GET',
      });
    expect(await statuses(7, forged)).toEqual([...FIVE, 429, 429]);
    expect(upstream.seen[0]?.headers).toMatchObject({ 'x-forwarded-for': '127.0.0.1' });
  });

  test('sends its headers to headgate even if the client names them in Connection', async () => {
    await setUp({ secret: 'a-secret-of-this-test' });
    const names = [
      ...['X-Forwarded-For', 'X-Forwarded-Uri', 'X-Forwarded-Method', 'X-Forwarded-Host'],
      ...['X_Forwarded_Uri', 'X-Real-IP', 'X-Headgate-Secret', 'Upgrade'],
    ];
    // A proxy drops the headers that Connection names (RFC 9110, section 7.6.1): CVE-2024-45410.
    const without = (i: number) =>
      login({ Connection: [...names, 'close'].slice(i).join(', '), Upgrade: 'a-protocol' });
    expect(await statuses(8, without)).toEqual([...FIVE, 429, 429, 429]);
  });

  test('sends the secret to headgate, and not to the application', async () => {
    await setUp({ secret: 'a-secret-of-this-test' });
    const forged = { 'X-Headgate-Secret': 'another-secret-of-a-client' };
    expect(await statuses(6, () => login(forged))).toEqual([...FIVE, 429]);
    expect((await call(gateway.url, '/traefik')).status).toBe(403);
    for (const { headers } of upstream.seen)
      expect(headers).not.toHaveProperty('x-headgate-secret');
  });

  test('counts all spellings of login together, and ignores the query', async () => {
    await setUp();
    expect(await statuses(5, () => login())).toEqual(FIVE);
    const spellings = [
      ...['//api/auth/login', '/api/auth/login/', '/api/./auth/login', '/api/x/../auth/login'],
      ...['/%61pi/auth/login', '/api/%2e%2e/api/auth/login', '/api/x/%2E%2e/auth//login'],
      ...['/api/auth%2Flogin', '/api/auth%2flogin/', '/API/auth/LOGIN'],
      ...['/api/auth/login;x=1', '/api/auth/login;/x', '/api/auth/login;"'],
      ...['/api/auth/login?;/x', '/api/auth/login?/../../free#/free'],
      ...['/api/auth/login?uri=/free&policy=free&X-Forwarded-Uri=/free'],
    ];
    const codes = await statuses(spellings.length, (i) => login({}, spellings[i]));
    expect(codes).toEqual(spellings.map(() => 429));
  });

  test('gives invented API keys no new limit', async () => {
    await setUp();
    const codes = await statuses(30, (i) => login({ 'X-Api-Key': `invented-${i}` }));
    expect(codes.filter((code) => code === 200)).toHaveLength(10);
  });

  test('counts a request of HTTP/1.0 without a host', async () => {
    await setUp();
    const request = `POST ${LOGIN} HTTP/1.0\r\nContent-Length: 0\r\n\r\n`;
    const codes: (number | undefined)[] = [];
    for (let i = 0; i < 6; i++) {
      // Go answers in the version of the request.
      const answer = await answerTo(proxy.url, request);
      codes.push(statusOf(answer.replace('HTTP/1.0', 'HTTP/1.1')));
    }
    expect(codes).toEqual([...FIVE, 429]);
  });

  test('checks a request for a WebSocket', async () => {
    await setUp();
    const request = `POST ${LOGIN} HTTP/1.1\r\nHost: a.example\r\nConnection: Upgrade, X-Forwarded-Uri\r\nUpgrade: websocket\r\nContent-Length: 0\r\n\r\n`;
    expect(await statuses(5, () => login())).toEqual(FIVE);
    expect(statusOf(await answerTo(proxy.url, request))).toBe(429);
  });

  test('passes no request that is too large to be checked', async () => {
    await using application = await startStandIn();
    await setUp({ application: application.port });
    await statuses(5, () => login());
    // Traefik sends three characters for every quotation mark.
    const paths = [100, 15_000, 19_900, 25_000, 70_000].map((n) => `${LOGIN};${'"'.repeat(n)}`);
    const keys = [30_000, 70_000].map((n) => ({ 'X-Api-Key': 'k'.repeat(n) }));
    const large = [
      ...paths.map((path) => ({ path, headers: {} })),
      ...keys.map((headers) => ({ path: LOGIN, headers })),
    ];
    for (const { path, headers } of large) {
      const options = { method: 'POST', headers, agent: new Agent() };
      // The connection may break, because Traefik refuses the request before it has read all of it.
      await call(proxy.url, path, options).catch(() => undefined);
    }
    expect(application.checks).toEqual(Array(5).fill(`POST ${LOGIN}`));
  });

  test('passes requests while the gateway is down, and marks them for the application', async () => {
    await setUp();
    await gateway.stop();
    const forged = { 'X-RateLimit-Bypass': 'of a client', 'X-RateLimit-Mode': 'of a client' };
    expect(await login(forged, UPLOAD)).toMatchObject({ status: 200, body: 'the application' });
    expect(upstream.seen[0]?.headers).toMatchObject({
      'x-ratelimit-bypass': 'gateway-unavailable',
    });
    expect(upstream.seen[0]?.headers).not.toHaveProperty('x-ratelimit-mode');
  });

  test('refuses all spellings of login, and nothing else, while the gateway hangs or is down', async () => {
    await using hanging = await startGatewayProcess();
    await setUp({ headgate: hanging.port, hasShippedTimeouts: true });
    const spellings = [
      ...[
        LOGIN,
        `${LOGIN}/`,
        `${LOGIN}?x=1`,
        '//api/auth/login',
        '/API/auth/LOGIN',
        '/api;/auth/login',
      ],
      ...['/api/auth/%256cogin', '/api/auth%2Flogin', '/api/auth/login;x=1', '/api/auth/login%20'],
    ];
    const codes = () => Promise.all(spellings.map(async (path) => (await login({}, path)).status));
    hanging.signal('SIGSTOP');
    const refused = await codes();
    expect(upstream.seen).toEqual([]);
    const passed = await login({}, UPLOAD);
    hanging.signal('SIGCONT');
    expect(new Set(refused)).toEqual(new Set([504]));
    expect(passed.status).toBe(200);
    expect(upstream.seen).toMatchObject([
      { url: UPLOAD, headers: { 'x-ratelimit-bypass': 'gateway-unavailable' } },
    ]);
    await hanging.stop();
    expect(new Set(await codes())).toEqual(new Set([502]));
    expect(upstream.seen).toHaveLength(1);
    expect((await login({}, '/api/auth/logins')).status).toBe(200);
    expect((await call(proxy.url, LOGIN)).status).toBe(200);
  });

  test('refuses a request if the denial of headgate breaks off', async () => {
    let isWell = true;
    await using broken = createServer((_request, response) => {
      // The test waits for this answer when it starts Traefik.
      if (isWell) return void response.end();
      response.writeHead(429, { 'Content-Length': '100' }).write('{');
      setImmediate(() => response.destroy());
    }).listen(0, '127.0.0.1');
    await once(broken, 'listening');
    await setUp({ headgate: (broken.address() as AddressInfo).port });
    isWell = false;
    expect((await login()).status).toBe(500);
    expect(upstream.seen).toEqual([]);
  });

  test('passes no "OPTIONS *" to the application', async () => {
    await setUp();
    const request = 'OPTIONS * HTTP/1.1\r\nHost: a.example\r\nConnection: close\r\n\r\n';
    expect(statusOf(await answerTo(proxy.url, request))).toEqual(expect.any(Number));
    expect(upstream.seen).toEqual([]);
  });

  test('refuses requests while the gateway is down if its file says so', async () => {
    await setUp({ changes: { 'service: headgate-or-open': 'service: headgate' } });
    expect((await login()).status).toBe(200);
    await gateway.stop();
    expect((await login()).status).toBe(502);
    expect(upstream.seen).toHaveLength(1);
  });
});

test.each(TRAEFIKS)('$name keeps its connections to the gateway', async ({ start }) => {
  await using gateway = await startStandIn();
  await using upstream = await startUpstream();
  await using proxy = await start({ application: upstream.port, headgate: gateway.port });
  const search = (i: number) => call(proxy.url, `/api/search?q=${i}`);
  expect(await statuses(20, search)).toEqual(Array(20).fill(200));
  // Checks contain no path or query of the client.
  expect(new Set(gateway.checks)).toEqual(new Set(['GET /traefik']));
  expect(gateway.connections).toBeLessThanOrEqual(2);
});

/** Answers 200 to everything, however large. */
async function startStandIn() {
  const checks: string[] = [];
  let connections = 0;
  const server = createServer({ maxHeaderSize: 1_000_000 }, ({ method, url }, response) => {
    checks.push(`${method} ${url}`);
    response.writeHead(200, { 'Content-Length': '0' }).end();
  });
  server.on('connection', () => {
    connections++;
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    checks,
    get connections() {
      return connections;
    },
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

interface Kinds {
  [kind: string]: Record<string, unknown>;
}

test('the Kubernetes resources have the middlewares of the file', () => {
  const read = (name: string) => readFileSync(new URL(name, DEPLOY), 'utf8');
  const { http } = parse(read('dynamic.yaml')) as { http: { middlewares: Record<string, Kinds> } };
  const { 'headgate-is-gone': _, ...shared } = http.middlewares;
  const resources = parseAllDocuments(read('kubernetes.yaml')).map(
    (document) => document.toJS() as { metadata: { name: string }; spec: Kinds },
  );
  const specs = Object.fromEntries(
    resources.map(({ metadata, spec }) => [metadata.name, withoutPlace(spec)]),
  );
  expect(specs).toEqual(
    Object.fromEntries(Object.entries(shared).map(([name, kind]) => [name, withoutPlace(kind)])),
  );
});

/** The address of headgate and the notation of chains differ. */
function withoutPlace({ chain, forwardAuth, ...rest }: Kinds): object {
  const members = chain?.middlewares as (string | { name: string })[] | undefined;
  const { address: _, ...settings } = forwardAuth ?? {};
  return {
    ...rest,
    settings,
    members: members?.map((member) => (typeof member === 'string' ? member : member.name)),
  };
}
