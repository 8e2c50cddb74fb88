import { describe, expect, test } from 'vitest';
import type { AnswerStyle } from '../../../../src/gateway/core/answer-style.ts';
import type { HeaderFields } from '../../../../src/gateway/core/check-request.ts';
import {
  BLOCKED,
  type Decision,
  EXEMPT,
  MALFORMED_PATH,
  unmeasured,
} from '../../../../src/gateway/core/counting/decision.ts';
import { envoyGrpc } from '../../../../src/gateway/dialects/envoy-grpc.ts';
import { deniedClient } from '../../../support/denials.ts';
import {
  checkRequestBytes,
  envoyCheckRequest,
  type HttpAttributes,
  readWrittenResponse,
  responseHeadersOf,
} from '../../../support/grpc-client.ts';
import { loginPolicy } from '../../../support/policies.ts';
import { NOON_MS } from '../../../support/requests.ts';

const STYLE: AnswerStyle = { reset: 'epoch', retryAfterJitterSeconds: 0, body: 'json' };

function parse(attributes: HttpAttributes) {
  const request = envoyGrpc.parse(
    checkRequestBytes(envoyCheckRequest(attributes)),
    '127.0.0.1',
    {},
  );
  if (request === undefined) throw new Error('the check is not about an HTTP request');
  return request;
}

describe('a check', () => {
  test('is read from the fields of the message', () => {
    const headers = { 'x-api-key': 'alice', 'x-forwarded-for': '203.0.113.9, 10.0.0.1' };
    const attributes = { method: 'POST', path: '/login?next=/', peer: '10.0.0.1', headers };
    expect(parse(attributes)).toEqual({
      method: 'POST',
      target: '/login?next=/',
      host: 'api.example.com',
      headers: expect.objectContaining(headers),
      addresses: {
        proxy: '127.0.0.1',
        peer: '10.0.0.1',
        client: undefined,
        forwardedFor: '203.0.113.9, 10.0.0.1',
        forwarded: undefined,
        headers: ['x-forwarded-for', 'forwarded'],
      },
      policy: undefined,
      requestId: undefined,
      missing: [],
    });
  });
  test('is not read from headers of the HTTP mode, nor from pseudo-headers', () => {
    const headers = {
      'x-headgate-client-ip': '6.6.6.6',
      'x-headgate-peer-ip': '6.6.6.6',
      'x-headgate-request-id': 'made-up',
      'x-original-uri': '/free',
      'x-request-id': 'made-up',
      ':path': '/free',
      ':method': 'GET',
      ':authority': 'free.example.com',
    };
    expect(parse({ method: 'POST', path: '/login', headers })).toMatchObject({
      method: 'POST',
      target: '/login',
      host: 'api.example.com',
      addresses: { peer: '198.51.100.1', client: undefined },
      requestId: undefined,
      policy: undefined,
    });
  });
  test('keeps the comma between two headers of the same name', () => {
    expect(parse({ headers: { 'x-api-key': 'a,b' } }).headers['x-api-key']).toBe('a,b');
    const rawHeaders = ['a', 'b'].map((value) => ['x-api-key', Buffer.from(value)] as const);
    expect(parse({ rawHeaders }).headers['x-api-key']).toBe('a,b');
  });
  test('has one character for each byte of a header, in both maps', () => {
    const bytes = Buffer.from('clé', 'utf8');
    const latin1 = bytes.toString('latin1');
    expect(parse({ headers: { 'x-api-key': 'clé' } }).headers['x-api-key']).toBe(latin1);
    expect(parse({ rawHeaders: [['x-api-key', bytes]] }).headers['x-api-key']).toBe(latin1);
    expect(parse({ path: '/clé' }).target).toBe(`/${latin1}`);
    const noText = Buffer.from([0xff, 0xfe, 0x80]);
    expect(parse({ rawHeaders: [['x-api-key', noText]] }).headers['x-api-key']).toBe(
      '\xff\xfe\x80',
    );
  });
  test('can have headers named like inherited properties', () => {
    const names = ['__proto__', 'constructor', 'toString', 'hasOwnProperty'];
    for (const map of ['headers', 'rawHeaders'] as const) {
      const values = names.map((name) => [name, Buffer.from('a value')] as const);
      const headers = JSON.parse(`{${names.map((name) => `"${name}":"a value"`)}}`);
      const request = parse(map === 'headers' ? { headers } : { rawHeaders: values });
      expect(request.headers.constructor).toBe('a value');
      expect(Object.getPrototypeOf(request.headers)).toBeNull();
      expect(({} as Record<string, unknown>)['a value']).toBeUndefined();
      expect(Object.getPrototypeOf({})).toBe(Object.prototype);
    }
  });
  test.each(['x-request-id', 'X-Request-Id', 'X-REQUEST-ID'])(
    'has the request id of the header that the file of Envoy names: %s',
    (request_id) => {
      const headers = { 'x-request-id': 'one' };
      expect(parse({ headers, contextExtensions: { request_id } }).requestId).toBe('one');
    },
  );
  test('has no request id from an inherited property', () => {
    const headers = { 'x-request-id': 'one' };
    for (const name of ['constructor', '__proto__', 'toString']) {
      const contextExtensions = { request_id: name };
      expect(parse({ headers, contextExtensions }).requestId).toBeUndefined();
    }
  });
  test('has the trace that Envoy began itself, which is in the metadata of the call', () => {
    const message = checkRequestBytes(
      envoyCheckRequest({ headers: { traceparent: 'of a client' } }),
    );
    const ofEnvoy = envoyGrpc.parse(message, '127.0.0.1', { traceparent: 'of Envoy' });
    expect(ofEnvoy?.headers.traceparent).toBe('of Envoy');
    const ofClient = envoyGrpc.parse(message, '127.0.0.1', {});
    expect(ofClient?.headers.traceparent).toBe('of a client');
  });
  test('without a path, as of CONNECT, is about the root', () => {
    expect(parse({ method: 'CONNECT', path: '' }).target).toBe('/');
    expect(parse({ method: 'OPTIONS', path: '*' }).target).toBe('*');
  });
  test('without a method is not about an HTTP request', () => {
    for (const message of [
      {},
      { attributes: {} },
      { attributes: { request: {} } },
      { attributes: { request: { http: {} } } },
      { attributes: { request: { http: { path: '/a', method: '' } } } },
    ]) {
      expect(envoyGrpc.parse(checkRequestBytes(message), '127.0.0.1', {})).toBeUndefined();
    }
    const message = { attributes: { request: { http: { method: 'GET' } } } };
    expect(envoyGrpc.parse(checkRequestBytes(message), '127.0.0.1', {})).toMatchObject({
      host: '',
    });
  });
});

describe("the route's context_extensions", () => {
  test('name a policy', () => {
    expect(parse({ contextExtensions: { policy: 'login' } }).policy).toBe('login');
  });
  test('name the header that holds the id of a request', () => {
    const contextExtensions = { request_id: 'x-request-id' };
    const headers = { 'x-request-id': 'one' };
    expect(parse({ contextExtensions, headers }).requestId).toBe('one');
    expect(parse({ contextExtensions }).requestId).toBeUndefined();
    const rawHeaders = [['x-request-id', Buffer.from('one')]] as const;
    expect(parse({ contextExtensions, rawHeaders }).requestId).toBe('one');
  });
  test('believe neither of two ids', () => {
    const contextExtensions = { request_id: 'x-request-id' };
    const headers = { 'x-request-id': 'one,two' };
    expect(parse({ contextExtensions, headers }).requestId).toBeUndefined();
  });
  test('cannot be sent by a client', () => {
    const headers = { policy: 'free', request_id: 'x-request-id', 'x-request-id': 'one' };
    expect(parse({ headers })).toMatchObject({ policy: undefined, requestId: undefined });
  });
});

describe('an answer', () => {
  const policy = loginPolicy('[5/5min]');
  const [limit] = policy.limits as [(typeof policy.limits)[0]];
  const decision = (verdict: 'allow' | 'deny', mode: Decision['mode'] = 'enforced'): Decision => ({
    verdict,
    mode,
    reason: verdict === 'deny' ? 'over_limit' : 'within_limits',
    policy: 'login',
    binding: {
      limit,
      state: {
        limit: 5,
        remaining: verdict === 'deny' ? 0 : 4,
        resetAfterMs: 300_000,
        retryAfterMs: verdict === 'deny' ? 111_001 : 0,
      },
      nowMs: NOON_MS,
      key: 'hg:v1:{i.x}:login:client.300000',
    },
    limits: [limit],
  });
  const render = (it: Decision, style = STYLE, headers: HeaderFields = {}) =>
    readWrittenResponse(envoyGrpc.write(envoyGrpc.render(it, style, headers)));

  test('that allows overwrites the rate limit headers of the application, and no other', () => {
    const allowed = render(decision('allow'));
    expect(allowed.status.code).toBe(0);
    expect(allowed.denied_response).toBeUndefined();
    expect(responseHeadersOf(allowed)).toEqual({
      'x-ratelimit-limit': '5',
      'x-ratelimit-remaining': '4',
      'x-ratelimit-reset': String(NOON_MS / 1000 + 300),
      ratelimit: '"login";r=4;t=300',
      'ratelimit-policy': '"login";q=5;w=300',
    });
    const actions = allowed.ok_response?.response_headers_to_add.map((it) => it.append_action);
    expect(new Set(actions)).toEqual(new Set([2]));
  });
  test('that denies has the status, headers without an append action, and the body', () => {
    const denied = render(decision('deny'));
    expect(denied.status.code).toBe(8);
    expect(denied.ok_response).toBeUndefined();
    expect(denied.denied_response?.status.code).toBe(429);
    expect(responseHeadersOf(denied)).toMatchObject({
      'cache-control': 'no-store',
      'content-type': 'application/json',
      'retry-after': '112',
      'x-ratelimit-policy': 'login',
      'x-ratelimit-remaining': '0',
    });
    for (const option of denied.denied_response?.headers ?? []) {
      expect(Object.keys(option)).toEqual(['header']);
    }
    expect(JSON.parse(denied.denied_response?.body ?? '')).toMatchObject({
      error: 'rate_limit_exceeded',
      retry_after: 112,
    });
  });
  test('that denies a call of gRPC has the status RESOURCE_EXHAUSTED for the client', () => {
    const call = { 'content-type': 'application/grpc' };
    expect(responseHeadersOf(render(decision('deny'), STYLE, call))['grpc-status']).toBe('8');
    expect(responseHeadersOf(render(decision('deny')))).not.toHaveProperty('grpc-status');
    expect(responseHeadersOf(render(decision('allow'), STYLE, call))).not.toHaveProperty(
      'grpc-status',
    );
  });
  test('that denies names the decision and the trace of the request', () => {
    const ids = (traceId?: string) => {
      const denial = { id: 'd1', traceId, ...deniedClient('i.x') };
      const { denied_response } = render({ ...decision('deny'), denial });
      return JSON.parse(denied_response?.body ?? '');
    };
    expect(ids()).not.toHaveProperty('trace_id');
    expect(ids()).toMatchObject({ decision_id: 'd1' });
    expect(ids('t1')).toMatchObject({ decision_id: 'd1', trace_id: 't1' });
  });
  test('leaves limits out of RateLimit-Policy where the header would grow too long', () => {
    const limits = Array.from({ length: 200 }, () => ({ ...limit }));
    const field = responseHeadersOf(render({ ...decision('deny'), limits }))['ratelimit-policy'];
    expect(field).toMatch(/^("login";q=5;w=300, )+"login";q=5;w=300$/);
    expect(field?.length).toBeGreaterThan(2_048);
    expect(field?.length).toBeLessThan(2_100);
  });
  test('can hold problem details', () => {
    const denied = render(decision('deny'), { ...STYLE, body: 'problem+json' });
    expect(responseHeadersOf(denied)['content-type']).toBe('application/problem+json');
    expect(JSON.parse(denied.denied_response?.body ?? '')).toMatchObject({ status: 429 });
  });
  test.each([
    ['a blocked client', BLOCKED, 403, 'blocked'],
    ['a malformed path', MALFORMED_PATH, 400, 'malformed_path'],
  ] as const)('refuses %s', (_, refused, status, error) => {
    const { denied_response, ok_response, status: rpc } = render(refused);
    expect({ code: rpc.code, ok_response }).toEqual({ code: 7, ok_response: undefined });
    expect(denied_response?.status.code).toBe(status);
    expect(JSON.parse(denied_response?.body ?? '').error).toBe(error);
  });
  test('to an exempt client has no headers', () => {
    const allowed = render(EXEMPT);
    expect(allowed.status.code).toBe(0);
    expect(responseHeadersOf(allowed)).toEqual({});
  });
  test('has the mode if nothing was counted: open allows, closed is a 429', () => {
    const open = render(unmeasured('open', policy));
    expect(open.status.code).toBe(0);
    expect(responseHeadersOf(open)).toEqual({ 'x-ratelimit-mode': 'open' });
    const closed = render(unmeasured('closed', policy));
    expect(closed.status.code).toBe(8);
    expect(closed.denied_response?.status.code).toBe(429);
    expect(responseHeadersOf(closed)).toMatchObject({
      'x-ratelimit-mode': 'closed',
      'retry-after': '1',
    });
  });
  test('has the mode local if only this process counted', () => {
    const allowed = render(decision('allow', 'local'));
    expect(responseHeadersOf(allowed)).toMatchObject({
      'x-ratelimit-mode': 'local',
      'x-ratelimit-remaining': '4',
    });
  });
  test('to a caller without the secret is a denial', () => {
    const answer = readWrittenResponse(envoyGrpc.write(envoyGrpc.unauthorized));
    const { status, ok_response, denied_response } = answer;
    expect({ code: status.code, ok_response }).toEqual({ code: 7, ok_response: undefined });
    expect(denied_response?.status.code).toBe(403);
    expect(responseHeadersOf(answer)).toEqual({
      'content-type': 'application/json',
    });
    expect(JSON.parse(denied_response?.body ?? '').error).toBe('forbidden');
  });
});
