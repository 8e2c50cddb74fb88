/** Checks of Envoy over gRPC, and the ids by which repeated checks are counted once. */
import { status } from '@grpc/grpc-js';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type Gateway, startGateway } from '../support/gateway.ts';
import {
  connectGrpc,
  envoyCheckRequest,
  type GrpcClient,
  type HttpAttributes,
} from '../support/grpc-client.ts';
import { headersOf, outcome, outcomes } from '../support/grpc-outcomes.ts';
import { call } from '../support/http.ts';
import { metric } from '../support/metrics.ts';

const LOGIN: HttpAttributes = { method: 'POST', path: '/api/auth/login' };

describe('Envoy', () => {
  let gateway: Gateway;
  let client: GrpcClient;
  let clients = 0;
  let peer: string;

  beforeAll(async () => {
    gateway = await startGateway({ HEADGATE_GRPC_PORT: '0' });
    client = connectGrpc(gateway.grpcPort);
  });
  beforeEach(() => {
    peer = `198.51.100.${++clients}`;
  });
  afterAll(async () => {
    client[Symbol.dispose]();
    await gateway.stop();
  });

  const login = (attributes: HttpAttributes = {}) =>
    client.check(envoyCheckRequest({ ...LOGIN, peer, ...attributes }));
  const counts = async () => ({
    allowed: await metric(gateway, 'headgate_decisions_total{policy="login",verdict="allow"}'),
    denied: await metric(gateway, 'headgate_decisions_total{policy="login",verdict="deny"}'),
    measured: await metric(gateway, 'headgate_decision_duration_seconds_count'),
    repeated: await metric(gateway, 'headgate_repeated_checks_total'),
  });

  test('gets five allows and a complete denial, and each is counted', async () => {
    for (const remaining of ['4', '3', '2', '1', '0']) {
      const allowed = await login();
      expect(outcome(allowed)).toBe(200);
      expect(headersOf(allowed)['x-ratelimit-remaining']).toBe(remaining);
    }
    const denied = await login();
    expect(outcome(denied)).toBe(429);
    expect(headersOf(denied)).toMatchObject({
      'content-type': 'application/json',
      'retry-after': expect.stringMatching(/^(300|2\d\d)$/),
      'x-ratelimit-policy': 'login',
    });
    expect(JSON.parse(denied.message?.denied_response?.body ?? '').error).toBe(
      'rate_limit_exceeded',
    );
    expect(await counts()).toEqual({ allowed: 5, denied: 1, measured: 6, repeated: 0 });
  });

  test('shares limits with proxies that send checks over HTTP', async () => {
    await outcomes(3, () => login());
    const headers = { 'x-headgate-client-ip': peer };
    const overHttp = () => call(gateway.url, '/envoy/api/auth/login', { method: 'POST', headers });
    expect((await overHttp()).headers['x-ratelimit-remaining']).toBe('1');
    expect((await overHttp()).status).toBe(200);
    expect(outcome(await login())).toBe(429);
  });

  test('gives each client its own limit', async () => {
    const from = (address: string) => outcomes(6, () => login({ peer: address }));
    expect(await from(peer)).toEqual([200, 200, 200, 200, 200, 429]);
    expect(await from('2001:db8::1')).toEqual([200, 200, 200, 200, 200, 429]);
  });

  describe('that checks one request twice', () => {
    const contextExtensions = { request_id: 'x-request-id' };
    const identified = (id: string) =>
      login({ contextExtensions, headers: { 'x-request-id': `${id} of ${peer}` } });

    test('has it counted once', async () => {
      const before = await counts();
      const remaining: unknown[] = [];
      for (const id of ['one', 'one', 'one', 'two']) {
        remaining.push(headersOf(await identified(id))['x-ratelimit-remaining']);
      }
      expect(remaining).toEqual(['4', '4', '4', '3']);
      const { allowed, measured, repeated } = await counts();
      expect(allowed - before.allowed).toBe(2);
      expect(measured - before.measured).toBe(2);
      expect(repeated - before.repeated).toBe(2);
    });

    test('has it counted once if the checks arrive together', async () => {
      const replies = await Promise.all(Array.from({ length: 20 }, () => identified('one')));
      expect(new Set(replies.map((it) => headersOf(it)['x-ratelimit-remaining']))).toEqual(
        new Set(['4']),
      );
    });

    test('has it denied twice', async () => {
      await outcomes(5, () => login());
      const before = await counts();
      expect(await outcomes(2, () => identified('one'))).toEqual([429, 429]);
      expect((await counts()).denied - before.denied).toBe(1);
    });

    test('has both counted if its route does not enable request ids', async () => {
      const before = await counts();
      const headers = { 'x-request-id': 'one', 'x-headgate-request-id': 'one', request_id: 'one' };
      expect(await outcomes(6, () => login({ headers }))).toEqual([200, 200, 200, 200, 200, 429]);
      expect((await counts()).repeated).toBe(before.repeated);
    });
  });
});

describe('over HTTP', () => {
  let gateway: Gateway;
  beforeAll(async () => {
    gateway = await startGateway({ HEADGATE_GRPC_PORT: 'off' });
  });
  afterAll(() => gateway.stop());

  test('HEADGATE_GRPC_PORT=off opens no gRPC port', () => {
    expect(gateway.output()).toContain('proxies at http://');
    expect(gateway.output()).not.toMatch(/^ +grpc /m);
  });

  const IDS = { 'x-headgate-request-id': 'one', 'x-request-id': 'one' };
  const remainingOfThree = async (path: string, headers: Record<string, string>) => {
    const found: number[] = [];
    for (let i = 0; i < 3; i++) {
      const { headers: answered } = await call(gateway.url, path, { headers });
      found.push(Number(answered['x-ratelimit-remaining']));
    }
    return found;
  };
  /** The client and the request, in the headers of every proxy. */
  const checkFrom = (address: string) => ({
    'x-original-method': 'GET',
    'x-original-uri': '/a',
    'x-original-url': 'http://a.example/a',
    'x-forwarded-method': 'GET',
    'x-forwarded-uri': '/a',
    'x-headgate-method': 'GET',
    'x-headgate-uri': '/a',
    'x-real-ip': address,
    'x-forwarded-for': address,
    'x-headgate-client-ip': address,
    'x-headgate-peer-ip': address,
  });

  test.each(['/envoy/a', '/nginx'])('%s counts each id of its proxy once', async (path) => {
    const headers = { ...checkFrom(`203.0.113.${path.length}`), 'x-headgate-request-id': path };
    expect(await remainingOfThree(path, headers)).toEqual([999, 999, 999]);
  });

  test.each(['/envoy/a', '/nginx'])('%s ignores the request id of a client', async (path) => {
    const headers = { ...checkFrom(`203.0.113.1${path.length}`), 'x-request-id': path };
    expect(await remainingOfThree(path, headers)).toEqual([999, 998, 997]);
  });

  test.each(['/caddy', '/traefik', '/haproxy', '/ingress-nginx'])(
    '%s reads no request id, because its proxy forwards what clients send',
    async (path) => {
      const headers = { ...checkFrom(`203.0.113.2${path.length}`), ...IDS };
      const [first = 0, ...others] = await remainingOfThree(path, headers);
      expect(others).toEqual([first - 1, first - 2]);
    },
  );
});

describe('the proxy secret', () => {
  const SECRET = 'a-secret-of-this-test';
  const OTHER = 'another-secret-of-this-test';
  const NAME = 'x-headgate-secret';
  const REFUSED = 'headgate_strangers_refused_total';
  let gateway: Gateway;
  let client: GrpcClient;
  beforeAll(async () => {
    const secrets = { HEADGATE_PROXY_SECRET: `${SECRET},${OTHER}` };
    gateway = await startGateway({ HEADGATE_GRPC_PORT: '0', ...secrets });
    client = connectGrpc(gateway.grpcPort);
  });
  afterAll(async () => {
    client[Symbol.dispose]();
    await gateway.stop();
  });

  test.each([SECRET, OTHER])('is accepted as metadata: %s', async (secret) => {
    expect(outcome(await client.check(envoyCheckRequest(), { [NAME]: secret }))).toBe(200);
  });

  test.each([
    ['none', {}],
    ['a wrong one', { [NAME]: 'another-secret' }],
    ['an empty one', { [NAME]: '' }],
    ['one twice', { [NAME]: [SECRET, SECRET] }],
    ['both', { [NAME]: [SECRET, OTHER] }],
    ['one among others', { [NAME]: ['a', SECRET] }],
    ['one under another name', { 'x-headgate-secrets': SECRET }],
  ])('callers with %s are refused', async (_, metadata) => {
    const before = await metric(gateway, REFUSED);
    const reply = await client.check(envoyCheckRequest(LOGIN), metadata);
    expect(outcome(reply)).toBe(403);
    expect(reply.message?.status.code).toBe(status.PERMISSION_DENIED);
    expect(reply.message?.denied_response?.body).toContain('"forbidden"');
    expect(await metric(gateway, REFUSED)).toBe(before + 1);
  });

  test('does not count if a client sends it', async () => {
    const request = envoyCheckRequest({ headers: { [NAME]: SECRET } });
    expect(outcome(await client.check(request))).toBe(403);
  });

  test('is not needed for health checks', async () => {
    expect((await client.health()).message).toEqual({ status: 'SERVING' });
  });
});
