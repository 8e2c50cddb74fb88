import { describe, expect, test } from 'vitest';
import {
  BLOCKED,
  type Decision,
  EXEMPT,
  MALFORMED_PATH,
  unmeasured,
} from '../../../src/core/decision.ts';
import type { AnswerStyle } from '../../../src/core/policy-set.ts';
import {
  type EnvoyCheckRequest,
  type EnvoyCheckResponse,
  envoyGrpc,
} from '../../../src/dialects/envoy-grpc.ts';
import {
  ENVOY_PROTOS,
  envoyCheckRequest,
  type HttpAttributes,
  messageOf,
  OUR_PROTOS,
  type Protos,
  responseHeadersOf,
} from '../../support/grpc-client.ts';
import { loginPolicy } from '../../support/policies.ts';
import { NOON_MS } from '../../support/requests.ts';

const PACKAGE = 'envoy.service.auth.v3';
const REQUEST = `${PACKAGE}.CheckRequest`;
const RESPONSE = `${PACKAGE}.CheckResponse`;
const STYLE: AnswerStyle = { reset: 'epoch', retryAfterJitterSeconds: 0, body: 'json' };

/** As it arrives: written by Envoy's definitions, read by ours. */
function received(request: object): EnvoyCheckRequest {
  const bytes = messageOf(ENVOY_PROTOS, REQUEST).serialize(request);
  return messageOf(OUR_PROTOS, REQUEST).deserialize(bytes);
}

/** As Envoy reads it. */
function sent(answer: EnvoyCheckResponse): EnvoyCheckResponse {
  const bytes = messageOf(OUR_PROTOS, RESPONSE).serialize(answer);
  return messageOf(ENVOY_PROTOS, RESPONSE).deserialize(bytes) as EnvoyCheckResponse;
}

const parse = (attributes: HttpAttributes) =>
  envoyGrpc.parse(received(envoyCheckRequest(attributes)), '127.0.0.1');

describe('the definitions', () => {
  test.each([REQUEST, RESPONSE])('have the field numbers and wire types of Envoy: %s', (name) => {
    const ours = fieldsBelow(typesOf(OUR_PROTOS), name);
    const envoys = fieldsBelow(typesOf(ENVOY_PROTOS), name);
    expect(ours.size).toBeGreaterThan(10);
    for (const [path, field] of ours) expect([path, envoys.get(path)]).toEqual([path, field]);
  });

  test('have the values of append_action that Envoy has', () => {
    const valuesIn = (protos: Protos, name: string) => {
      const { enumType } = messageOf(protos, name).type as Descriptor;
      return enumType.flatMap(({ value }) => value.map((each) => [each.name, each.number]));
    };
    const envoys = valuesIn(ENVOY_PROTOS, 'envoy.config.core.v3.HeaderValueOption');
    expect(envoys).toEqual(
      expect.arrayContaining(valuesIn(OUR_PROTOS, `${PACKAGE}.HeaderValueOption`)),
    );
  });

  test('name the service and its method as Envoy does', () => {
    for (const protos of [OUR_PROTOS, ENVOY_PROTOS]) {
      expect(protos[`${PACKAGE}.Authorization`]).toMatchObject({
        Check: { path: `/${PACKAGE}.Authorization/Check`, requestStream: false },
      });
    }
  });

  test('a message with every field is read as the fields that headgate uses', () => {
    const every = everyFieldOf(typesOf(ENVOY_PROTOS), REQUEST);
    expect(every).toHaveProperty('attributes.tls_session.sni');
    expect(received(every)).toEqual({
      attributes: {
        source: { address: { socket_address: { address: 'the address' } } },
        request: {
          http: {
            method: 'the method',
            path: 'the path',
            host: 'the host',
            headers: { 'the key': 'the value' },
            header_map: {
              headers: [
                { key: 'the key', value: 'the value', raw_value: Buffer.from('the raw_value') },
              ],
            },
          },
        },
        context_extensions: { 'the key': 'the value' },
      },
    });
  });
});

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
  test('has no request id from an inherited property', () => {
    const headers = { 'x-request-id': 'one' };
    for (const name of ['constructor', '__proto__', 'toString']) {
      const contextExtensions = { request_id: name };
      expect(parse({ headers, contextExtensions }).requestId).toBeUndefined();
    }
  });
  test('without a path, as of CONNECT, is about the root', () => {
    expect(parse({ method: 'CONNECT', path: '' }).target).toBe('/');
    expect(parse({ method: 'OPTIONS', path: '*' }).target).toBe('*');
  });
  test('without a method is not about an HTTP request', () => {
    const nothing: EnvoyCheckRequest[] = [
      {},
      { attributes: {} },
      { attributes: { request: {} } },
      { attributes: { request: { http: {} } } },
      { attributes: { request: { http: { path: '/a', method: '' } } } },
    ];
    for (const request of nothing) {
      expect(envoyGrpc.isAboutHttp(request)).toBe(false);
      expect(envoyGrpc.parse(request, '127.0.0.1')).toMatchObject({ method: '', host: '' });
    }
    expect(envoyGrpc.isAboutHttp({ attributes: { request: { http: { method: 'GET' } } } })).toBe(
      true,
    );
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
  const render = (it: Decision, style = STYLE) => sent(envoyGrpc.render(it, style));

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
    const { status, ok_response, denied_response } = sent(envoyGrpc.unauthorized);
    expect({ code: status.code, ok_response }).toEqual({ code: 7, ok_response: undefined });
    expect(denied_response?.status.code).toBe(403);
    expect(responseHeadersOf(sent(envoyGrpc.unauthorized))).toEqual({
      'content-type': 'application/json',
    });
    expect(JSON.parse(denied_response?.body ?? '').error).toBe('forbidden');
  });
});

interface Field {
  readonly name: string;
  readonly number: number;
  readonly label: string;
  readonly type: string;
  readonly typeName: string;
}

interface Descriptor {
  readonly name: string;
  readonly field: readonly Field[];
  readonly nestedType: readonly Descriptor[];
  readonly enumType: readonly { value: readonly { name: string; number: number }[] }[];
  readonly options: { readonly mapEntry: boolean } | null;
}

type Types = ReadonlyMap<string, Descriptor>;

/** By full name, with those that are defined within others. */
function typesOf(protos: Protos): Types {
  const found = new Map<string, Descriptor>();
  const add = (name: string, descriptor: Descriptor) => {
    found.set(name, descriptor);
    for (const nested of descriptor.nestedType) add(`${name}.${nested.name}`, nested);
  };
  for (const [name, { format, type }] of Object.entries(protos)) {
    if (format === 'Protocol Buffer 3 DescriptorProto') add(name, type as Descriptor);
  }
  return found;
}

/** A name is looked for where it is used, then in what is around that. */
function fullName(types: Types, usedIn: string, name: string): string {
  for (let scope = usedIn; ; scope = scope.slice(0, Math.max(0, scope.lastIndexOf('.')))) {
    const full = scope === '' ? name : `${scope}.${name}`;
    if (types.has(full)) return full;
    if (scope === '') throw new Error(`no type is called ${name} in ${usedIn}`);
  }
}

function isMessage({ type }: Field): boolean {
  return type === 'TYPE_MESSAGE';
}

/** Every field that can be reached, once for each type that it is in: some types hold themselves. */
function fieldsBelow(types: Types, name: string, path = '', within: readonly string[] = []) {
  const found = new Map<string, string>();
  for (const field of types.get(name)?.field ?? []) {
    const place = path === '' ? field.name : `${path}.${field.name}`;
    // The two look the same on the wire.
    const type = field.type === 'TYPE_ENUM' ? 'TYPE_INT32' : field.type;
    found.set(place, `${field.label} ${type} ${field.number}`);
    if (!isMessage(field)) continue;
    const below = fullName(types, name, field.typeName);
    if (within.includes(below)) continue;
    for (const entry of fieldsBelow(types, below, place, [...within, below])) found.set(...entry);
  }
  return found;
}

/** With every member of a choice as well. */
function everyFieldOf(types: Types, name: string, within: readonly string[] = []): object {
  const filled = (types.get(name)?.field ?? []).flatMap((field) => {
    if (!isMessage(field)) return [[field.name, repeatedAs(field, scalarFor(field))]];
    const below = fullName(types, name, field.typeName);
    if (within.includes(below)) return [];
    const value = everyFieldOf(types, below, [...within, below]);
    if (!types.get(below)?.options?.mapEntry) return [[field.name, repeatedAs(field, value)]];
    const entry = value as { key: string; value?: unknown };
    return [[field.name, { [entry.key]: entry.value ?? {} }]];
  });
  return Object.fromEntries(filled);
}

function repeatedAs<Value>({ label }: Field, value: Value): Value | Value[] {
  return label === 'LABEL_REPEATED' ? [value] : value;
}

function scalarFor({ name, type, number }: Field): string | Buffer | number | boolean {
  if (type === 'TYPE_STRING') return `the ${name}`;
  if (type === 'TYPE_BYTES') return Buffer.from(`the ${name}`);
  return type === 'TYPE_BOOL' ? true : number;
}
