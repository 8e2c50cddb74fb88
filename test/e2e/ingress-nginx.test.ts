/** What clients see behind ingress-nginx: NGINX with the configuration that the controller makes of deploy/ingress-nginx. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, describe, expect, inject, test } from 'vitest';
import { type Gateway, startGateway, startGatewayProcess } from '../support/gateway.ts';
import { call, statuses } from '../support/http.ts';
import { type IngressBehind, startIngressNginx } from '../support/ingress-nginx.ts';
import type { RunningProxy } from '../support/proxies.ts';
import { answerTo, statusOf } from '../support/raw-http.ts';
import { startUpstream, type Upstream } from '../support/upstream.ts';
import { expectDeniedLogin } from './support/denied-login.ts';

const LOGIN = '/api/auth/login';
const folder = mkdtempSync(join(tmpdir(), 'headgate-ingress-e2e-'));
afterAll(() => rmSync(folder, { recursive: true }));

let gateway: Gateway;
let upstream: Upstream;
let proxy: RunningProxy;

async function setUp(
  policies?: string,
  behind: Partial<IngressBehind> = {},
  env: NodeJS.ProcessEnv = {},
) {
  const file = join(folder, 'policies.yaml');
  if (policies !== undefined) writeFileSync(file, policies);
  gateway = await startGateway({
    ...env,
    ...(policies !== undefined && { HEADGATE_POLICIES: file }),
  });
  upstream = await startUpstream();
  proxy = await startIngressNginx({
    application: upstream.port,
    headgate: gateway.port,
    ...behind,
  });
}

afterEach(async () => {
  await proxy[Symbol.asyncDispose]();
  await upstream[Symbol.asyncDispose]();
  await gateway[Symbol.asyncDispose]();
});

const login = (headers: Record<string, string> = {}) =>
  call(proxy.url, LOGIN, { method: 'POST', body: '{"user":"alice"}', headers });

const limitHeaders = (rawHeaders: readonly string[]) =>
  rawHeaders
    .flatMap((header, i) =>
      i % 2 === 0 && /ratelimit/i.test(header) ? [[header.toLowerCase(), rawHeaders[i + 1]]] : [],
    )
    .sort();

describe.skipIf(inject('programs').nginx === undefined)('ingress-nginx', () => {
  test('allows five logins in five minutes, and denies the sixth with all headers', async () => {
    await setUp();
    expect(await statuses(5, () => login())).toEqual([200, 200, 200, 200, 200]);
    const denied = await login();
    expectDeniedLogin(denied);
    // Each header arrives once.
    expect(limitHeaders(denied.rawHeaders)).toEqual([
      ['ratelimit', expect.stringMatching(/^"login";r=0;t=\d+$/)],
      ['ratelimit-policy', '"login";q=5;w=300, "login:ip:5min";q=50;w=300'],
      ['x-ratelimit-decision-id', expect.stringMatching(/^[0-9a-f]{12}-\d+$/)],
      ['x-ratelimit-limit', '5'],
      ['x-ratelimit-policy', 'login'],
      ['x-ratelimit-remaining', '0'],
      ['x-ratelimit-reset', expect.stringMatching(/^\d{10}$/)],
    ]);
    expect(upstream.seen).toHaveLength(5);
    expect(upstream.seen[0]).toMatchObject({ method: 'POST', url: LOGIN, bytes: 16 });
  });

  test("replaces the application's headers with those of headgate on an allowed request", async () => {
    await setUp();
    const { status, rawHeaders, body } = await login();
    expect({ status, body }).toEqual({ status: 200, body: 'the application' });
    expect(limitHeaders(rawHeaders)).toEqual([
      ['ratelimit', '"login";r=4;t=300'],
      ['ratelimit-policy', '"login";q=5;w=300, "login:ip:5min";q=50;w=300'],
      ['x-ratelimit-limit', '5'],
      ['x-ratelimit-remaining', '4'],
      ['x-ratelimit-reset', expect.stringMatching(/^\d{10}$/)],
    ]);
  });

  test('denies with a plain 403 without the snippets', async () => {
    await setUp(undefined, { snippets: false });
    expect(await statuses(7, () => login())).toEqual([200, 200, 200, 200, 200, 403, 403]);
    expect(upstream.seen).toHaveLength(5);
    expect((await call(proxy.url, '/a%0d%0aX:y')).status).toBe(403);
  });

  test('ignores what a client sends in the headers of the controller', async () => {
    await setUp();
    const codes = await statuses(7, (i) =>
      login({
        'X-Original-URL': 'http://api.example.com/free',
        'X-Original-URI': '/free',
        'X-Original-Method': 'GET',
        'X-Real-IP': `203.0.113.${i}`,
        'X-Forwarded-For': `203.0.113.${i}`,
        'X-Forwarded-Uri': '/free',
        Forwarded: `for=203.0.113.${i}`,
        'X-Headgate-Peer-IP': '173.245.48.5',
        'X-Headgate-Client-IP': `203.0.113.${i}`,
        'X-Headgate-Body': 'mine',
        'X-RateLimit-Status': '200',
        'CF-Connecting-IP': `203.0.113.${i}`,
        'X-HTTP-Method-Override': 'GET',
      }),
    );
    expect(codes).toEqual([200, 200, 200, 200, 200, 429, 429]);
  });

  test('sends its headers to headgate even if the client names them in Connection', async () => {
    await setUp();
    const names = ['X-Original-URL', 'X-Original-Method', 'X-Real-IP', 'X-Forwarded-For', 'close'];
    const codes = await statuses(7, () => login({ Connection: names.join(', ') }));
    expect(codes).toEqual([200, 200, 200, 200, 200, 429, 429]);
  });

  test('refuses logins with an odd host', async () => {
    await setUp();
    const request = (host: string) =>
      `POST ${LOGIN} HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`;
    for (const host of ['a?b', 'a?b=http:', 'a#b', 'a:80?', 'a%2fb', 'a?', '?']) {
      expect([400, 403]).toContain(statusOf(await answerTo(proxy.url, request(host))));
    }
    expect(upstream.seen).toEqual([]);
  });

  test('refuses a target whose host chose this Ingress, with another Host', async () => {
    await setUp();
    const status = async (target: string, host: string) => {
      const head = `GET ${target} HTTP/1.1\r\n${host}Connection: close\r\n\r\n`;
      return statusOf(await answerTo(proxy.url, head));
    };
    expect(await status('http://api.example.com/', 'Host: b\r\n')).toBe(400);
    expect(await status('http://api.example.com:80/', 'Host: api.example.com.b\r\n')).toBe(400);
    expect(upstream.seen).toHaveLength(0);
    expect(await status('http://API.example.com/', 'Host: api.EXAMPLE.com:80\r\n')).toBe(200);
    expect(await status('http://api.example.com:80/', 'Host: api.example.com\r\n')).toBe(200);
    expect(await status('/', 'Host: b\r\n')).toBe(200);
  });
  test('counts all spellings of login together', async () => {
    await setUp();
    const spellings = [
      '//api/auth/login',
      '/api/x/../auth/login',
      '/%61pi/auth/login',
      '/API/auth/LOGIN',
      '/api/auth/login;x=1',
      '/api/auth/login?http://a/free',
      '/api/auth%2Flogin',
    ];
    const codes = await statuses(spellings.length, (i) =>
      call(proxy.url, spellings[i] ?? '', { method: 'POST' }),
    );
    expect(codes).toEqual([200, 200, 200, 200, 200, 429, 429]);
  });

  test('sends the proxy secret of the gateway', async () => {
    const secret = 'a-secret-of-this-test';
    const shipped = '#proxy_set_header X-Headgate-Secret "the secret";';
    await setUp(
      undefined,
      { changes: { [shipped]: `proxy_set_header X-Headgate-Secret "${secret}";` } },
      { HEADGATE_PROXY_SECRET: secret },
    );
    const codes = await statuses(6, () => login({ 'X-Headgate-Secret': 'one-of-a-client' }));
    expect(codes).toEqual([200, 200, 200, 200, 200, 429]);
  });

  test('passes the problem details of a refusal to a blocked client', async () => {
    await setUp(`
version: 1
answers: { body: problem+json }
block: [127.0.0.0/8]
default: { limits: [1/1h] }`);
    const blocked = await call(proxy.url, '/a');
    expect(blocked.status).toBe(403);
    expect(blocked.headers['content-type']).toBe('application/problem+json');
    expect(JSON.parse(blocked.body)).toMatchObject({ status: 403 });
  });

  test('denies a request even if very many limits deny it', async () => {
    const limits = Array.from({ length: 16 }, (_, i) => `${i + 1}/${i + 1}h`).join(', ');
    const name = 'n'.repeat(64);
    await setUp(
      `{ version: 1, default: { limits: [${limits}] }, policies: [{ name: ${name}, always: true, limits: [${limits}] }] }`,
    );
    expect(await statuses(3, () => call(proxy.url, '/a'))).toEqual([200, 429, 429]);
  });

  test('passes a 403 of the application unchanged', async () => {
    await setUp();
    const answer = await call(proxy.url, '/forbidden');
    expect(answer).toMatchObject({ status: 403, body: 'the application' });
    expect(answer.headers['x-ratelimit-limit']).toBe('1000');
  });

  describe('with custom-http-errors', () => {
    const own403 = 'if ($headgate_status !~ "^4") {';
    const seen = () => upstream.seen.map(({ url, headers }) => [url, headers['x-code']]);

    test.each(['ConfigMap', 'annotation'] as const)('of the %s denies with a 429', async (of) => {
      await setUp(undefined, { customErrors: { of, codes: [401, 403, 404, 429, 503] } });
      expect(await statuses(5, () => login())).toEqual([200, 200, 200, 200, 200]);
      expectDeniedLogin(await login());
      expect(upstream.seen).toHaveLength(5);
    });

    test("of the ConfigMap answers the application's 403 with the backend for errors", async () => {
      await setUp(undefined, { customErrors: { of: 'ConfigMap', codes: [403] } });
      expect((await call(proxy.url, '/forbidden')).body).toBe('the application');
      await gateway.stop();
      expect((await call(proxy.url, '/forbidden')).body).toBe('the application');
      const both = [
        ['/forbidden', undefined],
        ['/', '403'],
      ];
      expect(seen()).toEqual([...both, ...both]);
    });

    test('of the annotation does so with the line that the snippet names', async () => {
      await setUp(undefined, {
        customErrors: { of: 'annotation', codes: [403] },
        changes: {
          [own403]: `${own403} error_page 403 = @custom_upstream-default-backend_403;`,
        },
      });
      expect((await call(proxy.url, '/forbidden')).body).toBe('the application');
      expect(seen()).toEqual([
        ['/forbidden', undefined],
        ['/', '403'],
      ]);
    });

    test("for other statuses keeps the status of the application's 403", async () => {
      await setUp(undefined, { customErrors: { of: 'annotation', codes: [404] } });
      const answer = await call(proxy.url, '/forbidden');
      expect(answer.status).toBe(403);
      expect(answer.headers).toMatchObject({
        'content-type': 'text/html',
        'x-ratelimit-limit': '1000',
      });
      expect(answer.headers['cache-control']).toBeUndefined();
      await gateway.stop();
      expect((await call(proxy.url, '/forbidden')).status).toBe(403);
    });
  });

  test('passes and marks requests while the gateway is down', async () => {
    await setUp();
    await gateway.stop();
    const answer = await login();
    expect(answer).toMatchObject({ status: 200, body: 'the application' });
    expect(answer.headers['x-ratelimit-bypass']).toBe('gateway-unavailable');
    expect(answer.headers['x-ratelimit-limit']).toBeUndefined();
  });

  test('passes and marks requests while the gateway hangs', async () => {
    await using hanging = await startGatewayProcess();
    await setUp(undefined, { headgate: hanging.port, hasShippedTimeouts: true });
    hanging.signal('SIGSTOP');
    const answer = await login();
    hanging.signal('SIGCONT');
    expect(answer.status).toBe(200);
    expect(answer.headers['x-ratelimit-bypass']).toBe('gateway-unavailable');
  });

  test.each([
    ['the line that lets requests pass', { 'error_page 502 504 =204 @headgate_unavailable;': '' }],
    ['any snippet', undefined],
  ])('answers 500 without %s while the gateway is down', async (_, changes) => {
    await setUp(undefined, changes === undefined ? { snippets: false } : { changes });
    await gateway.stop();
    expect((await login()).status).toBe(500);
    expect(upstream.seen).toHaveLength(0);
  });
});
