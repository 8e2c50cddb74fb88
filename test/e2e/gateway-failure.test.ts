/**
 * `on_gateway_failure: deny` through real proxies. While the gateway is down or hangs, the proxy refuses what an
 * application would serve as a login, and passes other requests.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { simpleSpellingsOf } from '../../src/cli/check/advice/spellings.ts';
import { eventually } from '../support/eventually.ts';
import { type GatewayProcess, startGatewayProcess } from '../support/gateway.ts';
import { call } from '../support/http.ts';
import { servesPath } from '../support/lenient-servers.ts';
import { isNeeded } from '../support/programs.ts';
import { type RunningProxy, startCaddy } from '../support/proxies.ts';
import { COMPLETE_PROXIES, isHere, type ProxyStart } from '../support/proxy-starts.ts';
import { answerTo, statusOf } from '../support/raw-http.ts';
import { temporaryFolder } from '../support/temporary.ts';
import { startUpstream, type Upstream } from '../support/upstream.ts';

const LOGIN = '/api/auth/login';
const PROXIES = [
  ...COMPLETE_PROXIES,
  {
    name: 'caddy-newest',
    program: 'caddy-newest',
    start: (behind) => startCaddy(behind, 'caddy-newest'),
  } satisfies ProxyStart,
].filter(({ program }) => program === undefined || isNeeded(program));

/** One spelling of each kind: while the gateway hangs, the proxy waits for every request. */
const ODD_LOGINS = [
  `${LOGIN}/`,
  `${LOGIN}?x=1`,
  `/${LOGIN}`,
  '/api//auth/login',
  '/API/auth/LOGIN',
  '/api/auth/%6cogin',
  '/api/auth/%256cogin',
  '/api/auth%2Flogin',
  '/api/auth/login;x=1',
  '/api;/auth/login',
  '/api/./auth/login',
  '/api/x/../auth/login',
  '/api/x/%2e%2e/auth/login',
  '/api/x/..;/auth/login',
  '/api\\auth\\login',
  '/api/auth/login%20',
  '/api/auth/login.',
  '/api/auth/login%00',
  '/api/auth/login#x',
  '/api/auth/%EF%BD%8Cogin',
  'http://a.example/api/auth/login',
  'http:/api/auth/login',
  '/{/../api/auth/login?}',
  '/{http.request.method}/../api/auth/login',
];

/** Requests whose method or path belongs to no policy that refuses them. */
const OTHERS = [
  ['POST', '/api/upload'],
  ['POST', '/api/auth/logins'],
  ['POST', '/api/auth/login.js'],
  ['POST', '/api/auth/login/x'],
  ['POST', '/v1.2/Items/a-b_c~d@e=f+g,h?q=%2e%2e//;x'],
  ['POST', '/.well-known/x'],
  ['POST', '/'],
  ['GET', LOGIN],
  ['GET', '/a%20b//c;d'],
  ['PUT', LOGIN],
] as const;

/** As Host of a login. Proxies must not read a path in them. */
const ODD_HOSTS = ['x /clear?', 'x ?', 'POST x /clear', '', '/clear?', 'x:/clear?'];

const AT_ONCE = 8;

/** A proxy with an application behind it. All proxies use the same gateway. */
interface Proxied {
  readonly url: string;
  readonly seen: Upstream['seen'];
}

const programs = inject('programs');
const stack = new AsyncDisposableStack();
const running = new Map<string, Proxied>();
let gateway: GatewayProcess;

beforeAll(async () => {
  const folder = temporaryFolder(stack);
  const policies = join(folder, 'policies.yaml');
  // All proxies send the requests of one client. The proxies' own files say which requests they refuse.
  writeFileSync(policies, '{ version: 1, default: { limits: [1000000/1h] } }');
  gateway = stack.use(
    await startGatewayProcess({ HEADGATE_POLICIES: policies, HEADGATE_GRPC_PORT: '0' }),
  );
  await Promise.all(PROXIES.filter((row) => isHere(row, programs)).map(startProxy));
});
afterAll(() => stack.disposeAsync());

async function startProxy({ name, start }: ProxyStart): Promise<void> {
  const { port: headgate, grpcPort: grpc } = gateway;
  const upstream = stack.use(await startUpstream());
  const ports = { application: upstream.port, headgate, grpc };
  const proxy: RunningProxy = await start({ ...ports, hasShippedTimeouts: true });
  stack.use(proxy);
  running.set(name, { url: proxy.url, seen: upstream.seen });
}

function testProxies(title: string, check: (proxied: Proxied) => Promise<void>): void {
  for (const row of PROXIES) {
    test.skipIf(!isHere(row, programs))(`${row.name} ${title}`, { concurrent: true }, async () => {
      const proxied = running.get(row.name);
      if (proxied === undefined) throw new Error(`${row.name} has not started`);
      proxied.seen.length = 0;
      await check(proxied);
    });
  }
}

describe('while the gateway answers', () => {
  testProxies('passes logins in upper and lower case', async ({ url }) => {
    for (const path of [LOGIN, '/API/auth/LOGIN']) {
      // On a busy machine the gateway may be late at first.
      await eventually(
        () => call(url, path, { method: 'POST' }),
        ({ status }) => status === 200,
      );
    }
  });
});

describe('while the gateway hangs', () => {
  beforeAll(() => gateway.signal('SIGSTOP'));
  afterAll(() => gateway.signal('SIGCONT'));

  testProxies('refuses logins, and nothing else', async (proxied) => {
    await expectOneRefusal(proxied);
    await expectRefused(proxied, ODD_LOGINS);
    await expectOthersPass(proxied);
  });
});

describe('while the gateway is down', () => {
  beforeAll(async () => void (await gateway.stop()));

  testProxies('refuses logins, and nothing else', async (proxied) => {
    await expectOneRefusal(proxied);
    await expectOddHostsRefused(proxied);
    await expectRefused(proxied, [...ODD_LOGINS, ...simpleSpellingsOf(LOGIN)]);
    await expectOthersPass(proxied);
  });
});

function send({ url }: Proxied, method: string, target: string, host = 'a.example') {
  const head = `${method} ${target} HTTP/1.1\r\nHost: ${host}\r\n`;
  return answerTo(url, `${head}Connection: close\r\nContent-Length: 0\r\n\r\n`);
}

async function expectOneRefusal({ url, seen }: Proxied) {
  const answer = await call(url, LOGIN, { method: 'POST', body: '{}' });
  expect(answer.status).toBe(503);
  expect(answer.headers).toMatchObject({
    'retry-after': '1',
    'cache-control': 'no-store',
    'content-type': 'application/json',
  });
  expect(answer.headers['x-ratelimit-bypass']).toBeUndefined();
  expect(JSON.parse(answer.body)).toEqual({
    error: 'gateway_unavailable',
    message: 'This request cannot be checked now. Try again later.',
  });
  expect(seen).toEqual([]);
}

async function expectOddHostsRefused(proxied: Proxied) {
  for (const host of ODD_HOSTS) {
    const answer = await send(proxied, 'POST', LOGIN, host);
    expect(statusOf(answer), host).toBeGreaterThanOrEqual(400);
  }
  expect(proxied.seen).toEqual([]);
}

async function expectRefused(proxied: Proxied, targets: readonly string[]) {
  for (let i = 0; i < targets.length; i += AT_ONCE) {
    const some = targets.slice(i, i + AT_ONCE);
    proxied.seen.length = 0;
    const answers = await Promise.all(some.map((target) => send(proxied, 'POST', target)));
    const served = proxied.seen.filter(({ url }) => servesPath(url, LOGIN).length > 0);
    expect(served.map(({ url }) => url)).toEqual([]);
    // A proxy that closes the connection without a status has refused nothing.
    for (const [at, answer] of answers.entries()) {
      expect(statusOf(answer), some[at]).toBeGreaterThanOrEqual(200);
    }
  }
}

async function expectOthersPass(proxied: Proxied) {
  for (const [method, target] of OTHERS) {
    const answer = await send(proxied, method, target);
    expect(answer, `${method} ${target}`).toMatch(/^HTTP\/1\.1 200 [\s\S]*the application/);
  }
}
