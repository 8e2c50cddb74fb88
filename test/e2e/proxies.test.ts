/** What clients see behind each real proxy with its file of deploy/. */
import { createHash, hash } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { Agent } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, inject, test } from 'vitest';
import { type Gateway, startGateway } from '../support/gateway.ts';
import { call, statuses } from '../support/http.ts';
import { freePort } from '../support/ports.ts';
import type { RunningProxy } from '../support/proxies.ts';
import { COMPLETE_PROXIES, isHere } from '../support/proxy-starts.ts';
import { answerTo, statusOf } from '../support/raw-http.ts';
import { startUpstream, type Upstream } from '../support/upstream.ts';
import { expectDeniedLogin } from './support/denied-login.ts';

const LOGIN = '/api/auth/login';
/** No policy refuses its requests while the gateway is down. */
const UPLOAD = '/api/upload';

const folder = mkdtempSync(join(tmpdir(), 'headgate-e2e-'));
const policyFile = join(folder, 'policies.yaml');
afterAll(() => rmSync(folder, { recursive: true }));

describe.each(COMPLETE_PROXIES)('$name', ({ name, program, start }) => {
  const isEnvoy = program === 'envoy';
  const available = isHere({ program }, inject('programs'));
  const testWith = test.skipIf(!available);
  const shared = new AsyncDisposableStack();
  let ports: { readonly headgate: number; readonly grpc: number };
  let upstream: Upstream;
  let proxy: RunningProxy;
  let gateway: Gateway | undefined;

  /** One proxy for all tests. Each test starts a gateway at the address that the proxy knows. */
  beforeAll(async () => {
    if (!available) return;
    ports = { headgate: await freePort(), grpc: await freePort() };
    upstream = shared.use(await startUpstream());
    proxy = shared.use(await start({ application: upstream.port, ...ports }));
  });
  afterAll(() => shared.disposeAsync());
  afterEach(async () => {
    await gateway?.[Symbol.asyncDispose]();
    upstream.seen.length = 0;
  });

  function environment(): NodeJS.ProcessEnv {
    return {
      HEADGATE_PORT: String(ports.headgate),
      ...(name === 'envoy-grpc' && { HEADGATE_GRPC_PORT: String(ports.grpc) }),
    };
  }

  async function setUp(policies?: string): Promise<Gateway> {
    if (policies !== undefined) writeFileSync(policyFile, policies);
    const file = policies === undefined ? {} : { HEADGATE_POLICIES: policyFile };
    gateway = await startGateway({ ...environment(), ...file });
    return gateway;
  }

  testWith(
    'allows five logins in five minutes, and denies the sixth with all headers',
    async () => {
      const started = await setUp();
      const login = () => call(proxy.url, LOGIN, { method: 'POST', body: '{"user":"alice"}' });
      expect(await statuses(5, login)).toEqual([200, 200, 200, 200, 200]);
      const id = expectDeniedLogin(await login());
      // The operator finds the client in the log.
      await started.printed(new RegExp(`"decision_id":"${id}"`));
      expect(upstream.seen).toHaveLength(5);
    },
  );

  testWith('passes on the trace of a request, so that a denial names it', async () => {
    const started = await setUp('version: 1\ndefault: { limits: [1/1h] }\n');
    const trace = '4bf92f3577b34da6a3ce929d0e0e4736';
    const headers = { traceparent: `00-${trace}-00f067aa0ba902b7-01` };
    expect((await call(proxy.url, UPLOAD, { headers })).status).toBe(200);
    const { body } = await call(proxy.url, UPLOAD, { headers });
    expect(JSON.parse(body).trace_id).toBe(trace);
    await started.printed(new RegExp(`"trace_id":"${trace}"`));
  });

  testWith('allows a hundred searches in a minute', async () => {
    await setUp();
    const codes = await statuses(103, (i) => call(proxy.url, `/api/search?q=${i}`));
    expect(codes).toEqual([...Array(100).fill(200), 429, 429, 429]);
  });

  testWith(
    "replaces the application's headers with those of headgate on an allowed request",
    async () => {
      await setUp();
      const { status, rawHeaders, body } = await call(proxy.url, LOGIN, { method: 'POST' });
      expect({ status, body }).toEqual({ status: 200, body: 'the application' });
      const limits = rawHeaders.flatMap((header, i) =>
        i % 2 === 0 && /ratelimit/i.test(header) ? [[header.toLowerCase(), rawHeaders[i + 1]]] : [],
      );
      expect(limits.sort()).toEqual([
        ['ratelimit', '"login";r=4;t=300'],
        ['ratelimit-policy', '"login";q=5;w=300, "login:ip:5min";q=50;w=300'],
        ['x-ratelimit-limit', '5'],
        ['x-ratelimit-remaining', '4'],
        ['x-ratelimit-reset', expect.stringMatching(/^\d{10}$/)],
      ]);
    },
  );

  testWith('passes a request body unchanged', async () => {
    await setUp();
    const body = Buffer.alloc(5_000_000, 'headgate ');
    const headers = { 'Content-Type': 'application/json' };
    expect((await call(proxy.url, '/api/upload', { method: 'POST', body, headers })).status).toBe(
      200,
    );
    expect(upstream.seen[0]).toMatchObject({
      method: 'POST',
      url: '/api/upload',
      bytes: body.length,
      sha256: createHash('sha256').update(body).digest('hex'),
    });
  });

  testWith('ignores what a client sends in the headers of the proxy', async () => {
    await setUp();
    const login = (i: number) =>
      call(proxy.url, `${LOGIN}?uri=/free&x-original-uri=/free`, {
        method: 'POST',
        headers: {
          'X-Original-URI': '/free',
          'X-Original-Method': 'GET',
          'X-Real-IP': `203.0.113.${i}`,
          'X-Headgate-Peer-IP': '173.245.48.5',
          'X-Headgate-Client-IP': `203.0.113.${i}`,
          'CF-Connecting-IP': `203.0.113.${i}`,
          'X-Forwarded-For': `203.0.113.${i}`,
          'X-Forwarded-Uri': '/free',
          'X-HTTP-Method-Override': 'GET',
        },
      });
    expect(await statuses(7, login)).toEqual([200, 200, 200, 200, 200, 429, 429]);
  });

  testWith('sends the proxy secret of the gateway', async () => {
    const secret = 'a-secret-of-this-test';
    gateway = await startGateway({ ...environment(), HEADGATE_PROXY_SECRET: secret });
    await using withSecret = await start({ application: upstream.port, ...ports, secret });
    const headers = { 'X-Headgate-Secret': 'another-secret-of-a-client' };
    const login = () => call(withSecret.url, LOGIN, { method: 'POST', headers });
    expect(await statuses(6, login)).toEqual([200, 200, 200, 200, 200, 429]);
    expect((await call(gateway.url, '/nginx')).status).toBe(403);
  });

  testWith('tells clients why they get 403, if it sends a wrong secret', async () => {
    gateway = await startGateway({
      ...environment(),
      HEADGATE_PROXY_SECRET: 'a-secret-of-this-test',
    });
    const secret = 'another-secret-than-that';
    await using withAnother = await start({ application: upstream.port, ...ports, secret });
    const { status, body } = await call(withAnother.url, LOGIN, { method: 'POST' });
    expect({ status, body: body.trim() }).toEqual({
      status: 403,
      body: '{"error":"forbidden","message":"The proxy secret is missing or wrong."}',
    });
  });

  testWith(
    'sends its headers to headgate even if the client names them in Connection',
    async () => {
      await setUp();
      const names = [
        'X-Api-Key',
        'X-Real-IP',
        'X-Headgate-Peer-IP',
        'X-Headgate-Client-IP',
        'X-Headgate-Secret',
        'X-Original-URI',
        'X-Original-Method',
        'X-Forwarded-For',
        'X-Forwarded-Uri',
        'X-Forwarded-Method',
        'X-Forwarded-Host',
        'CF-Connecting-IP',
      ];
      // A proxy drops the headers that Connection names (RFC 9110, section 7.6.1): CVE-2024-45410.
      const login = (i: number) =>
        call(proxy.url, LOGIN, {
          method: 'POST',
          headers: { Connection: [...names, 'close'].slice(i).join(', ') },
        });
      const codes = await statuses(names.length + 1, login);
      // Envoy itself refuses most of these.
      const passed = codes.filter((code) => code === 200).length;
      expect(passed).toBeGreaterThan(0);
      expect(passed).toBeLessThanOrEqual(5);
      expect(upstream.seen).toHaveLength(passed);
    },
  );

  testWith('refuses a request with a thousand short headers', async () => {
    await setUp();
    const padding = 'A: 1\r\n'.repeat(1_100);
    const login = `POST ${LOGIN} HTTP/1.1\r\nHost: a.example\r\n${padding}Connection: close\r\nContent-Length: 0\r\n\r\n`;
    const answers: string[] = [];
    for (let i = 0; i < 7; i++) answers.push(await answerTo(proxy.url, login));
    for (const answer of answers) expect(statusOf(answer)).toBeGreaterThanOrEqual(400);
    expect(upstream.seen).toEqual([]);
  });

  testWith('refuses a blocked client with 403, and never counts an exempt one', async () => {
    await setUp(`
version: 1
identity: { api_key: { keys: [{ id: probe, sha256: ${hash('sha256', 'probe', 'hex')} }] } }
exempt: [{ key: probe }]
block: [127.0.0.0/8]
default: { limits: [1/1h] }`);
    const blocked = await call(proxy.url, '/a');
    expect(blocked.status).toBe(403);
    expect(JSON.parse(blocked.body)).toEqual({
      error: 'blocked',
      message: 'This client is blocked.',
      decision_id: blocked.headers['x-ratelimit-decision-id'],
    });
    const probe = () => call(proxy.url, '/a', { headers: { 'X-Api-Key': 'probe' } });
    expect(await statuses(3, probe)).toEqual([200, 200, 200]);
    expect((await probe()).headers['x-ratelimit-limit']).toBeUndefined();
  });

  testWith('counts all spellings of login together', async () => {
    await setUp();
    const spellings = [
      '/api/auth/login/',
      '//api/auth/login',
      '/api/./auth/login',
      '/api/x/../auth/login',
      '/%61pi/auth/login',
      '/api/auth/login?a',
      '/API/auth/LOGIN',
      '/api/auth/login;x=1',
      '/api/auth%2Flogin',
      '/api/auth/login;/x',
      // Envoy merges the slashes before it forwards the path.
      ...(name === 'nginx' ? ['//x/api/auth/login'] : []),
    ];
    const codes = await statuses(spellings.length, (i) =>
      call(proxy.url, spellings[i] ?? '', { method: 'POST' }),
    );
    expect(codes.filter((code) => code === 200)).toHaveLength(5);
    expect(new Set(codes.slice(5))).toEqual(new Set([429]));
  });

  testWith('refuses a path with a line break with 400 or 403', async () => {
    await setUp();
    const answer = await call(proxy.url, '/a%0d%0aX:y');
    expect([400, 403]).toContain(answer.status);
    expect(JSON.parse(answer.body).error).toBe('malformed_path');
    expect(upstream.seen).toHaveLength(0);
  });

  testWith('answers no odd host with 5xx', async () => {
    await setUp();
    for (const host of ['a,b', 'a@b', 'a"b', 'a|b', 'a<b', 'a b', 'a/b']) {
      const request = `GET /a HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`;
      const status = statusOf(await answerTo(proxy.url, request)) ?? 0;
      expect({ host, isFault: status >= 500 }).toEqual({ host, isFault: false });
    }
  });

  testWith('lets no request pass because its headers are too large', async () => {
    await setUp();
    const login = (padding: Record<string, string>) =>
      call(proxy.url, LOGIN, { method: 'POST', headers: padding, agent: new Agent() });
    await statuses(5, () => login({}));
    const large = Object.fromEntries(
      Array.from({ length: 90 }, (_, i) => [`x-padding-${i}`, 'x'.repeat(1_000)]),
    );
    const codes = await statuses(10, () => login(large).catch(() => login({})));
    expect(codes.filter((code) => code < 400)).toEqual([]);
    expect(upstream.seen).toHaveLength(5);
  });

  testWith('passes a 403 of the application unchanged', async () => {
    await setUp();
    const answer = await call(proxy.url, '/forbidden');
    expect(answer).toMatchObject({ status: 403, body: 'the application' });
    expect(answer.headers['x-ratelimit-limit']).toBe('1000');
  });

  testWith('counts a request of HTTP/1.0 without a host', async () => {
    await setUp();
    const answer = await answerTo(proxy.url, 'GET /a HTTP/1.0\r\n\r\n');
    // Envoy speaks no HTTP/1.0 by default.
    if (isEnvoy) expect(answer).toContain('426 Upgrade Required');
    else expect(answer).toMatch(/ 200 OK[\s\S]*X-RateLimit-Limit: 1000\r\n/i);
  });

  testWith('passes problem details to the client', async () => {
    await setUp('{ version: 1, answers: { body: problem+json }, default: { limits: [1/1min] } }');
    await call(proxy.url, '/a');
    const denied = await call(proxy.url, '/a');
    expect(denied.status).toBe(429);
    const types = denied.rawHeaders.filter((_, i, all) => /^content-type$/i.test(all[i - 1] ?? ''));
    expect(types).toEqual(['application/problem+json']);
    expect(JSON.parse(denied.body)['violated-policies']).toEqual(['default']);
  });

  testWith('denies a request even if very many limits deny it', async () => {
    const limits = Array.from({ length: 16 }, (_, i) => `${i + 1}/${i + 1}h`).join(', ');
    const name = 'n'.repeat(64);
    await setUp(
      `{ version: 1, default: { limits: [${limits}] }, policies: [{ name: ${name}, always: true, limits: [${limits}] }] }`,
    );
    const headers = { 'x-api-key': 'made-up' };
    const codes = await statuses(4, () => call(proxy.url, '/a', { headers }));
    expect(codes).toEqual([200, 429, 429, 429]);
  });

  testWith('refuses a host of 8,000 characters', async () => {
    await setUp(`
version: 1
default: { limits: [1000/1h] }
policies:
  - { name: host, match: { host: "*.example.com" }, limits: [2/1h] }
  - { name: other, always: true, match: { host: api.example.com }, limits: [1000/1h] }`);
    const headers = { Host: `${'a.'.repeat(4_000)}example.com` };
    const codes = await statuses(4, () => call(proxy.url, '/a', { headers }));
    // NGINX turns the 400 of a check into a 403.
    expect(codes).toEqual(Array(4).fill(name === 'nginx' ? 403 : 400));
    expect(upstream.seen).toEqual([]);
  });

  testWith('gives invented API keys no new limit', async () => {
    await setUp();
    const codes = await statuses(30, (i) =>
      call(proxy.url, LOGIN, { method: 'POST', headers: { 'X-Api-Key': `invented-${i}` } }),
    );
    expect(codes.filter((code) => code === 200)).toHaveLength(10);
  });

  testWith('passes and marks requests while the gateway is down', async () => {
    await (await setUp()).stop();
    const answer = await call(proxy.url, UPLOAD, { method: 'POST', body: 'kept' });
    expect(answer).toMatchObject({ status: 200, body: 'the application' });
    expect(upstream.seen[0]).toMatchObject({ method: 'POST', bytes: 4 });
    const marked = isEnvoy
      ? upstream.seen[0]?.headers['x-envoy-auth-failure-mode-allowed']
      : answer.headers['x-ratelimit-bypass'];
    expect(marked).toBeTruthy();
  });
});
