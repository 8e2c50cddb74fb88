/** The policy file bounds the number of Prometheus series, whatever clients and proxies send. */
import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { DIALECT_NAMES, HTTP_DIALECTS } from '../../src/gateway/dialects/index.ts';
import { type Gateway, startGateway } from '../support/gateway.ts';
import { connectGrpc, envoyCheckRequest, type GrpcClient } from '../support/grpc-client.ts';
import { call } from '../support/http.ts';
import { temporaryFile } from '../support/temporary.ts';

const POLICIES = `
version: 1
identity:
  sources: [api_key, user, cf_connecting_ip, { header: true-client-ip, from: proxy }, ip]
default: { limits: [3/1h, { rate: 9/1h, per: "header:x-tenant" }] }
policies:
  - { name: login, match: { method: POST, path: /login }, limits: [2/1h] }
  - { name: shade, always: true, match: { path: "/*" }, limits: [1/1h], mode: shadow }
`;
const ADDRESS_HEADERS = [
  'x-headgate-peer-ip',
  'x-headgate-client-ip',
  'x-real-ip',
  'x-forwarded-for',
  'forwarded',
];

/** All values that each label may have with this policy file. */
const ALLOWED: Readonly<Record<string, readonly string[]>> = {
  policy: ['login', 'shade', 'default', 'none'],
  verdict: 'allow deny local error_allow error_deny exempt blocked shadow_deny'.split(' '),
  kind: ['api_key', 'user', 'cf_connecting_ip', 'true_client_ip', 'ip'],
  dialect: DIALECT_NAMES,
  header: [
    ...ADDRESS_HEADERS,
    'x-api-key',
    'x-user',
    'cf-connecting-ip',
    'true-client-ip',
    'x-tenant',
  ],
  mode: ['local', 'open', 'closed'],
};
/** Labels whose values do not depend on requests. */
const OF_THE_PROCESS = ['version', 'node', 'sha', 'sha256', 'le'];
const AT_ONCE = 30;

const started = new AsyncDisposableStack();
let gateway: Gateway;
let grpc: GrpcClient;

beforeAll(async () => {
  const file = temporaryFile(started, POLICIES);
  gateway = started.use(await startGateway({ HEADGATE_POLICIES: file, HEADGATE_GRPC_PORT: '0' }));
  grpc = connectGrpc(gateway.grpcPort);
  started.defer(() => grpc[Symbol.dispose]());
});
afterAll(() => started.disposeAsync());

/** Each call returns new words. Some look like parts of metrics. */
const word = () => randomBytes(1 + Math.floor(Math.random() * 20)).toString('hex');
const oneOf = <T>(...values: readonly T[]): T =>
  values[Math.floor(Math.random() * values.length)] as T;
const odd = () =>
  oneOf(word(), `"} 1\\n${word()}{x="`, `policy="${word()}"`, '__proto__', 'constructor', '');
const address = () =>
  oneOf(
    `203.0.${randomBytes(1)[0]}.${randomBytes(1)[0]}`,
    word(),
    `2001:db8::${word().slice(0, 4)}`,
  );
const method = () => oneOf('GET', 'POST', 'PROPFIND', 'get', 'BREW', 'M-SEARCH', 'OPTIONS');
const path = () =>
  oneOf('/login', '/', `/${word()}`, `//${word()}/../${word()}?${word()}`, `/%${word()}`);

function hostileHeaders(): Record<string, string> {
  const names = [
    ...(ALLOWED.header ?? []),
    'x-original-method',
    'x-forwarded-method',
    'x-forwarded-host',
  ];
  const headers: Record<string, string> = {
    [`x-${word()}`]: word(),
    host: oneOf(`${word()}.example`, word(), 'localhost'),
    'x-original-uri': path(),
    'x-forwarded-uri': path(),
    'x-original-url': `http://${word()}${path()}`,
  };
  for (const name of names) {
    if (Math.random() < 0.5) headers[name] = oneOf(address(), encodeURIComponent(odd()), method());
  }
  return headers;
}

async function overHttp(): Promise<void> {
  const mount = oneOf(...HTTP_DIALECTS.map(({ mount }) => mount), `/${word()}`);
  await call(gateway.url, `${mount}${path()}`, {
    method: method().toUpperCase(),
    headers: hostileHeaders(),
  });
}

async function overGrpc(): Promise<void> {
  const contextExtensions = {
    policy: odd(),
    [word()]: odd(),
    request_id: oneOf('x-request-id', word()),
  };
  await grpc.check(
    envoyCheckRequest({
      method: oneOf(method(), odd()),
      path: path(),
      host: odd(),
      headers: { [word()]: odd(), 'x-api-key': word() },
      contextExtensions,
    }),
  );
}

async function toOpsServer(): Promise<void> {
  await call(gateway.opsUrl, oneOf(`/${word()}`, '/metrics/', `/v1/policies/${word()}/mode`), {
    method: oneOf('GET', 'DELETE', 'POST'),
    headers: { host: word() },
  });
}

async function sendHostileRequests(count: number): Promise<void> {
  for (let i = 0; i < count; i += AT_ONCE) {
    const sent = Array.from({ length: AT_ONCE }, (_, j) =>
      j % 5 === 0 ? overGrpc() : j === 1 ? toOpsServer() : overHttp(),
    );
    await Promise.all(sent);
  }
}

async function seriesOfHeadgate(): Promise<string[]> {
  const { body } = await call(gateway.opsUrl, '/metrics');
  return body
    .split('\n')
    .filter((line) => line.startsWith('headgate_'))
    .map((line) => line.slice(0, line.lastIndexOf(' ')))
    .sort();
}

test('hostile requests add no series to those of the policy file', async () => {
  await sendHostileRequests(1_500);
  const first = await seriesOfHeadgate();
  for (const series of first) {
    const [, labels = ''] = /^[a-z_]+(?:\{(.*)\})?$/.exec(series) ?? expect.fail(series);
    for (const [, name = '', value = ''] of labels.matchAll(
      /([a-z0-9_]+)="((?:[^"\\]|\\.)*)",?/g,
    )) {
      if (!OF_THE_PROCESS.includes(name))
        expect(ALLOWED[name], `${name} in ${series}`).toContain(value);
    }
  }
  // The requests have reached every metric.
  const text = first.join('\n');
  // A check from Envoy cannot lack a header: its request line has everything.
  for (const { name: dialect } of HTTP_DIALECTS) {
    if (dialect === 'envoy') continue;
    expect(text).toContain(`headgate_misconfigured_requests_total{dialect="${dialect}"}`);
  }
  for (const part of [
    'policy="none"',
    'policy="login"',
    'verdict="shadow_deny"',
    'kind="true_client_ip"',
    'kind="api_key"',
    'header="cf-connecting-ip"',
  ]) {
    expect(text).toContain(part);
  }
  const unknown = (await call(gateway.opsUrl, '/metrics')).body;
  expect(unknown).toMatch(/^headgate_unknown_policy_total [1-9]\d\d/m);

  // New values add no series, except a few combinations that are rare.
  await sendHostileRequests(500);
  const second = await seriesOfHeadgate();
  const combinations = new Set([...first, ...second]).size;
  expect(second.length).toBe(combinations);
  expect(second.length - first.length).toBeLessThanOrEqual(2);
});
