/** The forms of answers behind each real proxy: headers of LLM clients, no headers, own texts and pages, with CORS. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { type Gateway, startGateway } from '../support/gateway.ts';
import { call, type HttpAnswer } from '../support/http.ts';
import { freePort } from '../support/ports.ts';
import type { RunningProxy } from '../support/proxies.ts';
import { proxyConfigOf } from '../support/proxy-config.ts';
import { COMPLETE_PROXIES, isHere, proxyStart } from '../support/proxy-starts.ts';
import { startUpstream } from '../support/upstream.ts';

/** With the longest id that these tests see, almost 8 KiB. */
const FILLED = 8_192 - 10 - 64 - 32;
const PAGE_START = '<!doctype html><title>Zu schnell – {policy}</title><p>In {seconds} s. {id}';
const PAGE =
  PAGE_START + 'x'.repeat(FILLED - PAGE_START.length - 6 + '{seconds}{policy}{id}'.length);
const ORIGIN = 'https://app.example.com';
const POLICIES = `
version: 1
answers: { cors: { origins: ["${ORIGIN}"] } }
default: { limits: [1000/1h] }
policies:
  - name: model
    match: { path: /model }
    limits: [2/1h, { rate: 900/1h, unit: tokens, reserve: 100, algorithm: sliding-window-counter }]
    answers: { body: openai, headers: openai }
  - name: secret
    match: { path: /secret }
    limits: [1/1h]
    answers: { headers: off }
  - name: shop
    match: { path: /shop }
    limits: [1/1h]
    answers:
      text: 'Zu "schnell" – {seconds} ✋'
      page: ${JSON.stringify(PAGE)}
  - name: agents
    match: { path: /mcp, mcp: { method: none } }
    limits: [1/1h]
    answers: { page: "<p>none", headers: openai }
`;
const BROWSER = { accept: 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8' };

const folder = mkdtempSync(join(tmpdir(), 'headgate-answers-'));
const policyFile = join(folder, 'policies.yaml');
afterAll(() => rmSync(folder, { recursive: true }));

/** The files of the other two pass every header of the client, or are written by hand. */
const PRINTED = ['nginx', 'envoy', 'envoy-grpc', 'haproxy'];
const PROXIES = [...COMPLETE_PROXIES, proxyStart('ingress-nginx'), proxyStart('traefik')];

describe.each(PROXIES)('$name', ({ name, program, start }) => {
  const testHere = test.skipIf(!isHere({ program }, inject('programs')));
  const stack = new AsyncDisposableStack();
  let gateway: Gateway;
  let proxy: RunningProxy;

  beforeAll(async () => {
    if (!isHere({ program }, inject('programs'))) return;
    const ports = { headgate: await freePort(), grpc: await freePort() };
    const upstream = stack.use(await startUpstream());
    const text = PRINTED.includes(name) ? proxyConfigOf(name, POLICIES) : undefined;
    proxy = stack.use(await start({ application: upstream.port, ...ports, text }));
    writeFileSync(policyFile, POLICIES);
    gateway = stack.use(
      await startGateway({
        HEADGATE_POLICIES: policyFile,
        HEADGATE_PORT: String(ports.headgate),
        ...(name === 'envoy-grpc' && { HEADGATE_GRPC_PORT: String(ports.grpc) }),
      }),
    );
  });
  afterAll(() => stack.disposeAsync());
  const get = (path: string, headers = {}) => call(proxy.url, path, { headers });

  testHere('an allowed request gets the headers of LLM clients', async () => {
    const { status, headers } = await get('/model');
    expect(status).toBe(200);
    if (name === 'traefik') {
      // It gives clients no header of an allow.
      expect(headers['x-ratelimit-limit-requests']).toBeUndefined();
      return;
    }
    expect(headers).toMatchObject({
      'x-ratelimit-limit-requests': '2',
      'x-ratelimit-remaining-requests': '1',
      'x-ratelimit-limit-tokens': '900',
      'x-ratelimit-remaining-tokens': '800',
    });
    expect(headers['x-ratelimit-reset-requests']).toMatch(/^(1h0|59)m[\d.]+s$/);
  });

  testHere('a denied one gets the error and the headers of the API of OpenAI', async () => {
    for (let i = 0; i < 2; i++) await get('/model');
    const { status, headers, body } = await get('/model');
    expect(status).toBe(429);
    expect(JSON.parse(body)).toMatchObject({
      error: { type: 'requests', param: null, code: 'rate_limit_exceeded' },
    });
    expect(headers).toMatchObject({
      'x-should-retry': 'false',
      'x-ratelimit-remaining-requests': '0',
      'x-ratelimit-remaining-tokens': '700',
    });
    expect(headers['x-ratelimit-limit']).toBeUndefined();
    expect(Number(headers['retry-after-ms'])).toBeLessThanOrEqual(
      Number(headers['retry-after']) * 1_000,
    );
  });

  testHere('no header and no body tells the numbers of a policy with headers: off', async () => {
    const allowed = await get('/secret');
    const denied = await get('/secret');
    expect([allowed.status, denied.status]).toEqual([200, 429]);
    for (const { headers } of [allowed, denied]) {
      const told = Object.entries(headers).filter(
        ([each, value]) => /ratelimit/.test(each) && !/999/.test(String(value)),
      );
      expect(told.filter(([each]) => each !== 'x-ratelimit-decision-id')).toEqual([]);
    }
    expect(denied.headers['retry-after']).toMatch(/^3[56]\d\d$/);
    expect(denied.headers['x-ratelimit-decision-id']).toBeDefined();
    expect(JSON.parse(denied.body)).toEqual({
      error: 'rate_limit_exceeded',
      message: `Too many requests. Try again in ${denied.headers['retry-after']} seconds.`,
      retry_after: Number(denied.headers['retry-after']),
      decision_id: denied.headers['x-ratelimit-decision-id'],
    });
  });

  testHere('a browser gets a page of 8 KiB, and others the text', async () => {
    await get('/shop');
    const page = await get('/shop', { ...BROWSER, origin: ORIGIN });
    expect(page.status).toBe(429);
    expect(page.headers).toMatchObject({
      'content-type': 'text/html; charset=utf-8',
      'access-control-allow-origin': ORIGIN,
    });
    expect(valuesOf(page, 'vary')).toEqual(['Accept, Origin']);
    expect(valuesOf(page, 'access-control-expose-headers')).toHaveLength(1);
    const { 'x-ratelimit-decision-id': id, 'retry-after': seconds } = page.headers;
    expect(page.body.trimEnd().length).toBeGreaterThan(8_000);
    expect(page.body).toContain(
      `<title>Zu schnell &#8211; shop</title><p>In ${seconds} s. ${id}xxx`,
    );
    const other = await get('/shop', { accept: '*/*' });
    expect(other.headers['content-type']).toBe('application/json');
    expect(valuesOf(other, 'vary')).toEqual(['Accept, Origin']);
    expect(JSON.parse(other.body).message).toBe(
      `Zu "schnell" – ${other.headers['retry-after']} ✋`,
    );
    const head = await call(proxy.url, '/shop', { method: 'HEAD', headers: BROWSER });
    expect([head.status, head.body]).toEqual([429, '']);
    expect(valuesOf(head, 'vary')).toEqual(['Accept, Origin']);
    expect(gateway.output()).not.toContain('"level":"error"');
  });

  testHere('a page reads the denial of an agent, with the headers that it names', async () => {
    const send = (headers = {}) =>
      call(proxy.url, '/mcp', { method: 'POST', headers: { origin: ORIGIN, ...headers } });
    await send();
    const denied = await send();
    expect(denied.status).toBe(429);
    expect(JSON.parse(denied.body)).toMatchObject({ jsonrpc: '2.0', id: null });
    const exposed = String(denied.headers['access-control-expose-headers'])
      .toLowerCase()
      .split(', ');
    expect(exposed).toContain('x-ratelimit-limit-requests');
    expect(Object.keys(denied.headers)).toEqual(expect.arrayContaining(exposed));
    expect((await send(BROWSER)).body).toBe('<p>none\n');
  });

  testHere('a page reads a refusal', async () => {
    const refused = await get('/%00', { origin: ORIGIN });
    if (refused.headers['x-ratelimit-decision-id'] === undefined) {
      // The proxy refuses such a path itself.
      expect([400, 404]).toContain(refused.status);
      return;
    }
    expect(refused.headers).toMatchObject({ 'access-control-allow-origin': ORIGIN });
    expect(valuesOf(refused, 'vary')).toEqual(['Origin']);
  });
});

/** One for each line of this name. */
function valuesOf({ rawHeaders }: HttpAnswer, name: string): string[] {
  return rawHeaders.filter((_, i) => i % 2 === 1 && rawHeaders[i - 1]?.toLowerCase() === name);
}
