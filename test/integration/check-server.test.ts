/** The check server over real sockets: headgate answers all requests that a framework would answer by itself. */
import { readFileSync } from 'node:fs';
import { Agent, METHODS } from 'node:http';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Gateway, startGateway } from '../support/gateway.ts';
import { call } from '../support/http.ts';
import { exchange, statusOf } from '../support/raw-http.ts';

let gateway: Gateway;

beforeAll(async () => {
  gateway = await startGateway();
});
afterAll(() => gateway.stop());

/** Each test is another client. */
let clients = 0;
const asClient = () => ({ 'x-headgate-client-ip': `198.51.100.${++clients}` });

describe('every method is checked', () => {
  // A CONNECT request has no path.
  test.each(METHODS.filter((method) => method !== 'CONNECT'))('%s', async (method) => {
    const answer = await exchange(
      gateway.url,
      `${method} /envoy/anything HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`,
    );
    expect(statusOf(answer)).toBe(200);
    expect(answer).toMatch(/^X-RateLimit-Limit: 1000\r$/m);
  });
});

describe('every path is checked', () => {
  test.each([
    '',
    '/',
    '//',
    '/a%zz',
    '/%',
    '/%c0%ae%c0%ae/',
    '/a b',
    '?',
    '?a=%zz',
    '*',
    '/[]{}|^`"<>\\',
    `/${'x'.repeat(20_000)}`,
  ])('%s', async (path) => {
    const request = `GET /envoy${path.replace(' ', '%20')} HTTP/1.1\r\nHost: a\r\nX-Headgate-Client-IP: ${asClient()['x-headgate-client-ip']}\r\nConnection: close\r\n\r\n`;
    const answer = await exchange(gateway.url, Buffer.from(request, 'utf8'));
    expect(statusOf(answer)).toBe(200);
  });
  test('but one with control characters is refused', async () => {
    const answer = await call(gateway.url, '/envoy/a%00b', { headers: asClient() });
    expect(answer.status).toBe(400);
    expect(JSON.parse(answer.body).error).toBe('malformed_path');
  });
});

describe('every body is ignored', () => {
  test.each([
    [
      'an empty one with the type of JSON',
      { 'content-type': 'application/json', 'content-length': '0' },
      '',
    ],
    ['broken JSON', { 'content-type': 'application/json' }, '{'],
    ['XML', { 'content-type': 'text/xml' }, '<a/>'],
    ['multipart without parts', { 'content-type': 'multipart/form-data; boundary=x' }, ''],
    ['an unknown encoding', { 'content-encoding': 'zstd', 'content-type': 'a/b' }, 'x'],
    ['two megabytes', { 'content-type': 'application/octet-stream' }, 'x'.repeat(2_000_000)],
  ])('%s', async (_, headers, body) => {
    const answer = await call(gateway.url, '/envoy/a', {
      method: 'POST',
      headers: { ...headers, ...asClient() },
      body,
    });
    expect(answer.status).toBe(200);
  });
  test('one that never arrives does not delay the answer', async () => {
    const answer = await exchange(
      gateway.url,
      'POST /envoy/a HTTP/1.1\r\nHost: a\r\nContent-Length: 20\r\n\r\n',
    );
    expect(statusOf(answer)).toBe(200);
  });
});

describe('headers', () => {
  test('of 40 KB are read', async () => {
    const headers = { ...asClient(), cookie: 'x'.repeat(40_000) };
    expect((await call(gateway.url, '/envoy/a', { headers })).status).toBe(200);
  });
  test('are read if there are 256, and refused if there are more', async () => {
    const last = `X-Headgate-Client-IP: ${asClient()['x-headgate-client-ip']}\r\nConnection: close\r\n`;
    const ask = (count: number) => {
      const padding = 'A: 1\r\n'.repeat(count - 3);
      return exchange(gateway.url, `GET /envoy/a HTTP/1.1\r\nHost: a\r\n${padding}${last}\r\n`);
    };
    for (const remaining of [999, 998]) {
      expect(await ask(256)).toContain(`X-RateLimit-Remaining: ${remaining}\r`);
    }
    for (const count of [257, 258, 300, 3_000]) expect(statusOf(await ask(count))).toBe(431);
  });
  test('that are too long are refused, and never cut', async () => {
    const padding = `A: ${'1'.repeat(95)}\r\n`.repeat(700);
    const request = `GET /envoy/a HTTP/1.1\r\nHost: a\r\n${padding}\r\n`;
    expect(statusOf(await exchange(gateway.url, request))).toBe(431);
  });
  test.each([
    ['If-None-Match', '*'],
    ['If-Modified-Since', 'Sat, 21 Nov 2026 00:00:00 GMT'],
    ['Range', 'bytes=0-0'],
    ['Expect', '100-continue'],
    ['Upgrade', 'websocket'],
    ['__proto__', 'x'],
    ['Accept', 'image/png'],
  ])('have no effect: %s', async (name, value) => {
    const extra = name === 'Upgrade' ? 'Connection: Upgrade, close' : 'Connection: close';
    const answer = await exchange(
      gateway.url,
      `GET /envoy/a HTTP/1.1\r\nHost: a\r\n${name}: ${value}\r\n${extra}\r\n\r\n`,
    );
    expect(answer).toMatch(/HTTP\/1\.1 200 OK\r\n/);
    expect(answer).toMatch(/^Content-Length: 0\r$/m);
  });
  test('may lack a host', async () => {
    const answer = await exchange(
      gateway.url,
      'GET /envoy/a HTTP/1.1\r\nConnection: close\r\n\r\n',
    );
    expect(statusOf(answer)).toBe(200);
  });
});

describe('a malformed request is refused', () => {
  test.each([
    ['an unknown method', 'BREW /envoy/a HTTP/1.1\r\nHost: a\r\n\r\n'],
    ['no version', 'GET /envoy/a\r\n\r\n'],
    ['a bare line feed in a header', 'GET /envoy/a HTTP/1.1\r\nHost: a\nX: y\r\n\r\n'],
    ['a space before a colon', 'GET /envoy/a HTTP/1.1\r\nHost : a\r\n\r\n'],
    [
      'two lengths',
      'GET /envoy/a HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n',
    ],
    [
      'length and chunks',
      'GET /envoy/a HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n',
    ],
    ['a NUL', 'GET /envoy/a HTTP/1.1\r\nHost: a\0\r\n\r\n'],
    ['noise', '\x16\x03\x01\x02\x00\x01\x00'],
  ])('%s', async (_, bytes) => {
    const answer = await exchange(gateway.url, Buffer.from(bytes, 'latin1'));
    expect(statusOf(answer)).toBe(400);
  });
});

test('a client that sends its headers too slowly is disconnected', async () => {
  const answer = await exchange(gateway.url, 'GET /envoy/a HTTP/1.1\r\nHost:', 60_000);
  expect(statusOf(answer)).toBe(408);
});

test('a connection serves several requests', async () => {
  const twice = 'GET /envoy/a HTTP/1.1\r\nHost: a\r\n\r\n'.repeat(2);
  expect((await exchange(gateway.url, twice)).match(/HTTP\/1\.1 200/g)).toHaveLength(2);
});

test.each(['/', '/envoys', '/envoy-x/a', '/metrics', '/livez', '/nginxx'])(
  'other paths are not found: %s',
  async (path) => {
    const answer = await call(gateway.url, path);
    expect(answer.status).toBe(404);
    expect(answer.body).toContain('/envoy, /nginx');
  },
);

describe('NGINX', () => {
  const headers = () => ({
    'x-original-method': 'GET',
    'x-original-uri': '/a?b',
    'x-real-ip': asClient()['x-headgate-client-ip'],
  });
  test.each(['GET', 'HEAD', 'POST'])('may send checks with %s', async (method) => {
    const answer = await call(gateway.url, '/nginx', { method, headers: headers() });
    expect(answer.status).toBe(200);
    expect(answer.headers['x-ratelimit-limit']).toBe('1000');
  });
  test('gets the strictest policy if it leaves out a header, and a log line says so', async () => {
    const { 'x-original-uri': _, ...incomplete } = headers();
    const codes = [];
    for (let i = 0; i < 5; i++) {
      codes.push((await call(gateway.url, '/nginx', { headers: incomplete })).status);
    }
    expect(codes).toEqual([200, 200, 200, 429, 429]);
    await gateway.printed(/"event":"proxy_misconfigured".*\n/);
    const lines = gateway.output().match(/.*"event":"proxy_misconfigured".*/g) ?? [];
    expect(lines).toHaveLength(1);
    expect(JSON.parse(lines[0] ?? '')).toMatchObject({
      dialect: 'nginx',
      missing: ['x-original-uri'],
    });
  });
});

describe('the ops server', () => {
  test('reports that the gateway is alive and ready', async () => {
    expect(await call(gateway.opsUrl, '/livez')).toMatchObject({
      status: 200,
      body: '{"status":"ok"}',
    });
    expect(await call(gateway.opsUrl, '/readyz')).toMatchObject({
      status: 200,
      body: '{"status":"ok"}',
    });
  });
  test('counts decisions by policy and verdict, and measures their duration', async () => {
    await call(gateway.url, '/envoy/api/search', { headers: asClient() });
    const { body } = await call(gateway.opsUrl, '/metrics');
    expect(body).toMatch(/^headgate_decisions_total\{policy="search",verdict="allow"\} 1$/m);
    expect(body).toMatch(/^headgate_decisions_total\{policy="register",verdict="deny"\} 2$/m);
    expect(body).toMatch(/^headgate_decision_duration_seconds_count \d+$/m);
    expect(body).toMatch(/^headgate_misconfigured_requests_total\{dialect="nginx"\} 5$/m);
  });
});

test.runIf(process.platform === 'linux')('500 simultaneous connections are accepted', async () => {
  await using gateway = await startGateway();
  // The kernel lists listening sockets with the state 0A.
  const port = gateway.port.toString(16).toUpperCase().padStart(4, '0');
  const sockets = readFileSync('/proc/net/tcp', 'utf8').match(
    new RegExp(`: 0100007F:${port} \\S+ 0A `, 'g'),
  );
  expect(sockets).toHaveLength(16);
  const agent = new Agent({ maxSockets: 500 });
  const answers = await Promise.all(
    Array.from({ length: 500 }, () => call(gateway.url, '/envoy/a', { agent })),
  );
  expect(answers.filter(({ status }) => status !== 200)).toEqual([]);
});
