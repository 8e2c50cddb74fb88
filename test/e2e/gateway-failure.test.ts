/**
 * `on_gateway_failure: deny` through real proxies: while the gateway is down or too slow, what an application would
 * serve as login is refused, and other requests pass.
 */
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { simpleSpellingsOf } from '../../src/config/check/spellings.ts';
import { type GatewayProcess, startGatewayProcess } from '../support/gateway.ts';
import { call } from '../support/http.ts';
import { servesPath } from '../support/lenient-servers.ts';
import { type RunningProxy, startCaddy } from '../support/proxies.ts';
import { COMPLETE_PROXIES, isHere, type ProxyStart } from '../support/proxy-starts.ts';
import { exchange, statusOf } from '../support/raw-http.ts';
import { startUpstream, type Upstream } from '../support/upstream.ts';

const LOGIN = '/api/auth/login';
const PROXIES: readonly ProxyStart[] = [
  ...COMPLETE_PROXIES,
  {
    name: 'caddy-newest',
    program: 'caddy-newest',
    start: (behind) => startCaddy(behind, 'caddy-newest'),
  },
];

/** One of each kind, for a gateway that makes every request wait. */
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

/** With a method or a path of no policy that refuses. */
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

describe.each(PROXIES)('$name', ({ name, program, start }) => {
  const available = isHere({ program }, inject('programs'));
  const testWith = test.skipIf(!available);
  const stack = new AsyncDisposableStack();
  let gateway: GatewayProcess;
  let upstream: Upstream;
  let proxy: RunningProxy;

  beforeAll(async () => {
    if (!available) return;
    gateway = stack.use(
      await startGatewayProcess(name === 'envoy-grpc' ? { HEADGATE_GRPC_PORT: '0' } : {}),
    );
    upstream = stack.use(await startUpstream());
    const { port: headgate, grpcPort: grpc } = gateway;
    proxy = stack.use(
      await start({ application: upstream.port, headgate, grpc, hasShippedTimeouts: true }),
    );
  });
  afterAll(() => stack.disposeAsync());

  const raw = (method: string, target: string, host = 'a.example') =>
    exchange(
      proxy.url,
      `${method} ${target} HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`,
      5_000,
    );

  async function expectRefused(targets: readonly string[]) {
    for (let i = 0; i < targets.length; i += 8) {
      const some = targets.slice(i, i + 8);
      upstream.seen.length = 0;
      const answers = await Promise.all(some.map((target) => raw('POST', target)));
      const served = upstream.seen.filter(({ url }) => servesPath(url, LOGIN).length > 0);
      expect(served.map(({ url }) => url)).toEqual([]);
      // An answer there is: a proxy that broke off has refused nothing.
      for (const [at, answer] of answers.entries()) {
        expect(statusOf(answer), some[at]).toBeGreaterThanOrEqual(200);
      }
    }
  }

  async function expectOthersPass() {
    for (const [method, target] of OTHERS) {
      const answer = await raw(method, target);
      expect(answer, `${method} ${target}`).toMatch(/^HTTP\/1\.1 200 [\s\S]*the application/);
    }
  }

  async function expectOneRefusal() {
    upstream.seen.length = 0;
    const answer = await call(proxy.url, LOGIN, { method: 'POST', body: '{}' });
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
    expect(upstream.seen).toEqual([]);
  }

  testWith(
    'while the gateway answers, logins pass in any case of letters',
    { retry: 2 },
    async () => {
      expect((await call(proxy.url, LOGIN, { method: 'POST' })).status).toBe(200);
      expect((await call(proxy.url, '/API/auth/LOGIN', { method: 'POST' })).status).toBe(200);
    },
  );

  testWith('refuses logins while the gateway is too slow, and nothing else', async () => {
    gateway.signal('SIGSTOP');
    try {
      await expectOneRefusal();
      await expectRefused(ODD_LOGINS);
      await expectOthersPass();
    } finally {
      gateway.signal('SIGCONT');
    }
  });

  testWith('refuses logins while the gateway is down, and nothing else', async () => {
    await gateway.stop();
    await expectOneRefusal();
    for (const host of ['x /clear?', 'x ?', 'POST x /clear', '', '/clear?', 'x:/clear?']) {
      upstream.seen.length = 0;
      expect(statusOf(await raw('POST', LOGIN, host)), host).toBeGreaterThanOrEqual(400);
      expect(upstream.seen).toEqual([]);
    }
    await expectRefused([...ODD_LOGINS, ...simpleSpellingsOf(LOGIN)]);
    await expectOthersPass();
  });
});
