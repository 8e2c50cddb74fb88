/** Policy tests and a gateway decide alike: what a gateway answered is expected by a test, which passes. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { stringify } from 'yaml';
import { runCommand } from '../support/command.ts';
import { startGateway } from '../support/gateway.ts';
import { call } from '../support/http.ts';

const POLICIES = `version: 1
identity:
  sources: [api_key, ip]
  ip: { ipv6_prefixes: { 64: 1x, 48: 2x } }
block: [192.0.2.66]
default: { limits: [40/1h, { rate: 15/1h, per: ip }] }
policies:
  - { name: login, match: { method: POST, path: /login }, limits: [3/1h, { rate: 20/1h, per: global }] }
  - { name: users, match: { path: /users/:id }, limits: [{ rate: 9/1h, algorithm: token-bucket, burst: 4 }], cost: 2 }
  - { name: tenant, match: { path: /t/* }, limits: [{ rate: 5/1d, per: "header:x-tenant", count_rejected: true }] }
  - { name: trial, match: { path: /trial }, limits: [1/1h], mode: shadow }
  - { name: month, match: { path: /m }, limits: [{ rate: 6/month, zone: Europe/Zurich, count_rejected: true }] }
  - { name: all, always: true, limits: [{ rate: 30/1d, algorithm: sliding-window-counter }] }
`;

const CLIENTS: Readonly<Record<string, { address: string; headers?: Record<string, string> }>> = {
  alice: { address: '203.0.113.9' },
  bob: { address: '203.0.113.9', headers: { 'x-api-key': 'one' } },
  carol: { address: '203.0.113.9', headers: { 'x-api-key': 'two', 'x-tenant': 'acme' } },
  dave: { address: '2001:db8:1:2::1', headers: { 'x-tenant': 'acme' } },
  eve: { address: '2001:db8:1:3::1' },
  mallory: { address: '192.0.2.66' },
};

const REQUESTS = [
  'POST /login',
  'POST //%6cogin/',
  'GET /users/1',
  'GET /users/a%2Fb',
  'GET /t/x?y=/../z',
  'GET /t/../users/2;p=1',
  'GET /trial',
  'GET /',
  'GET /m',
  'GET /a%00b',
];

/** Those that do not depend on the moment or the gateway. */
const COMPARED = [
  'x-ratelimit-limit',
  'x-ratelimit-remaining',
  'x-ratelimit-policy',
  'ratelimit-policy',
];

test('300 requests of six clients', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'headgate-agree-'));
  const path = (name: string) => join(folder, name);
  try {
    writeFileSync(path('policies.yaml'), POLICIES);
    await using gateway = await startGateway({ HEADGATE_POLICIES: path('policies.yaml') });
    // A sliding-window-counter depends on the time of the day.
    const start = new Date().toISOString();
    const names = Object.keys(CLIENTS);
    const steps = [];
    for (let i = 0; i < 300; i++) {
      // Every client sends every request, in an order that repeats late.
      const client = names[(i * 7 + Math.floor(i / 11)) % names.length] ?? '';
      const send = REQUESTS[(i * 3 + Math.floor(i / 13)) % REQUESTS.length] ?? '';
      const [method = '', target = ''] = send.split(' ');
      const { address, headers } = CLIENTS[client] ?? { address: '' };
      const answer = await call(gateway.url, `/envoy${target}`, {
        method,
        headers: { ...headers, host: 'localhost', 'x-headgate-client-ip': address },
      });
      const found = COMPARED.map((name) => [name, answer.headers[name] ?? null]);
      const body = answer.body === '' ? {} : { body: { json: withoutId(answer.body) } };
      const expected = { status: answer.status, headers: Object.fromEntries(found), ...body };
      steps.push({ client, send, host: 'localhost', expect: expected });
    }
    const statuses = new Set(steps.map((step) => step.expect.status));
    expect([...statuses].sort()).toEqual([200, 400, 403, 429]);
    await expectToPass(path('a_test.yaml'), { start, steps });
  } finally {
    rmSync(folder, { recursive: true });
  }
});

async function expectToPass(
  testFile: string,
  { start, steps }: { readonly start: string; readonly steps: readonly object[] },
): Promise<void> {
  const tests = [{ name: 'what a gateway answered', steps }];
  const file = { policies: 'policies.yaml', start, clients: CLIENTS, tests };
  writeFileSync(testFile, stringify(file, { aliasDuplicateObjects: false }));
  const { code, stdout } = await runCommand(['test', '-o', 'json', testFile]);
  expect(JSON.parse(stdout).files[0].tests[0].failures).toEqual([]);
  expect(code).toBe(0);
}

const CHARGING = `version: 1
identity: { sources: [ip] }
default: { limits: [100/1h] }
policies:
  - name: login
    match: { path: /login }
    limits: [{ rate: 8/1h, refund: { status: [204], header: { x-login: ok } } }, 90/1d]
  - name: chat
    match: { path: /chat }
    limits:
      - { rate: 20000/1d, algorithm: sliding-window-counter, unit: tokens, reserve: 300, unknown: 2000 }
      - { rate: 40000/month, per: global, unit: tokens, reserve: 300, unknown: 2000 }
  - name: trial
    match: { path: /trial }
    mode: shadow
    limits: [{ rate: 4/1d, algorithm: fixed-window, refund: { location: /account } }, 90/1h]
`;

/** Reports by applications: what is charged, more than was reserved, less, nothing, and without units. */
const OUTCOMES = [
  { status: 204 },
  { status: 401, headers: { 'x-login': 'failed' } },
  { status: 200, headers: { 'x-login': 'ok' }, units: { tokens: 812 } },
  { status: 302, headers: { location: 'https://a.example/account?x' }, units: { tokens: 0 } },
  { status: 500 },
  { units: { tokens: 300 } },
];

test('240 requests that are settled at once, later, twice or never', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'headgate-agree-'));
  const path = (name: string) => join(folder, name);
  try {
    writeFileSync(path('policies.yaml'), CHARGING);
    await using gateway = await startGateway({ HEADGATE_POLICIES: path('policies.yaml') });
    const report = async (token: string, outcome: object): Promise<string> => {
      const body = JSON.stringify({ token, ...outcome });
      const headers = { 'content-type': 'application/json' };
      const answer = await call(gateway.url, '/settle', { method: 'POST', headers, body });
      return JSON.parse(answer.body).result;
    };
    const start = new Date().toISOString();
    const steps: object[] = [];
    const results: string[] = [];
    const issued: [name: string, token: string][] = [];
    for (let i = 0; i < 240; i++) {
      const client = ['alice', 'eve'][(i + Math.floor(i / 7)) % 2] ?? '';
      const target = ['/login', '/chat', '/trial', '/chat'][(i * 3 + Math.floor(i / 5)) % 4] ?? '';
      const address = CLIENTS[client]?.address ?? '';
      const answer = await call(gateway.url, `/envoy${target}`, {
        headers: { host: 'localhost', 'x-headgate-client-ip': address },
      });
      const found = COMPARED.map((name) => [name, answer.headers[name] ?? null]);
      const expected = { status: answer.status, headers: Object.fromEntries(found) };
      const step = { client, send: `GET ${target}`, host: 'localhost', expect: expected };
      const token = answer.headers['x-headgate-settle']?.toString();
      const outcome = OUTCOMES[i % OUTCOMES.length] ?? {};
      const turn = i % 4;
      if (token === undefined || turn === 3) steps.push(step);
      else if (turn === 0) {
        const result = await report(token, outcome);
        results.push(result);
        steps.push({ ...step, settle: { ...outcome, result } });
      } else {
        issued.push([`request ${i}`, token]);
        steps.push({ ...step, as: `request ${i}` });
      }
      // Some are settled a while after, and some of those twice.
      const [of, late] = issued[i % 11 === 10 ? 0 : issued.length] ?? [];
      if (of === undefined || late === undefined) continue;
      if (i % 2 === 0) issued.shift();
      const result = await report(late, outcome);
      results.push(result);
      steps.push({ settle: { of, ...outcome, result } });
    }
    expect([...new Set(results)].sort()).toEqual(['repeated', 'settled']);
    await expectToPass(path('a_test.yaml'), { start, steps });
  } finally {
    rmSync(folder, { recursive: true });
  }
});

/** The wait may be a second shorter at a gateway, whose requests do not all come at once. */
function withoutId(body: string): object {
  const { error, policy } = JSON.parse(body);
  return policy === undefined ? { error } : { error, policy };
}
