/** The ops server by its answers: health, metrics, what reaches the operations, and how it refuses. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import {
  OperationError,
  type OperationErrorCode,
} from '../../../../../src/gateway/operations/operation-error.ts';
import { createOpsServer, type Health } from '../../../../../src/gateway/server/ops/ops-server.ts';

const HEALTHY: Health = { ready: true, degraded: false, unseenHeaders: [], unsettledPolicies: [] };
const TOKEN = 'a-token-of-operators';

let health: Health;
let operate: (name: string, input: unknown) => Promise<unknown>;
let events: unknown[];
let scrapes: number;
let server: ReturnType<typeof createOpsServer>;

function start(adminToken?: string): void {
  server = createOpsServer({
    metrics: async () => `scrape ${++scrapes}`,
    contentType: 'text/plain; version=0.0.4',
    health: () => health,
    operate: (name, input) => operate(name, input),
    pageFolder: undefined,
    adminToken,
    onRefused: () => events.push('refused'),
    onFault: (error) => events.push(error),
    onConnectionFault: (error) => events.push(error),
  });
}

beforeEach(() => {
  health = HEALTHY;
  events = [];
  scrapes = 0;
  operate = async (name, input) => ({ name, input });
  start();
});
afterEach(() => server.close());

interface Sent {
  readonly method?: 'GET' | 'POST' | 'PUT' | 'DELETE' | 'HEAD' | 'PATCH';
  readonly headers?: Record<string, string>;
  readonly body?: string;
}

async function send(url: string, { method = 'GET', headers = {}, body }: Sent = {}) {
  const type = body === undefined ? {} : { 'content-type': 'application/json' };
  const sent = { host: 'localhost:9464', ...type, ...headers };
  return server.inject({ method, url, headers: sent, ...(body !== undefined && { body }) });
}

async function jsonOf(url: string, sent?: Sent) {
  const answer = await send(url, sent);
  return [answer.statusCode, answer.json()];
}

describe('readiness', () => {
  test.each<[Partial<Health>, number, object]>([
    [{}, 200, { status: 'ok' }],
    [{ unsettledPolicies: ['login'] }, 200, { status: 'degraded', unsettled_policies: ['login'] }],
    [{ unresponsiveWorkers: [] }, 200, { status: 'ok' }],
    [{ degraded: true }, 200, { status: 'degraded' }],
    [{ unresponsiveWorkers: [2, 5] }, 200, { status: 'degraded', unresponsive_workers: [2, 5] }],
    [{ ready: false }, 503, { status: 'not_ready' }],
    [{ ready: false, degraded: true }, 503, { status: 'not_ready' }],
    [
      { ready: false, unresponsiveWorkers: [1] },
      503,
      { status: 'not_ready', unresponsive_workers: [1] },
    ],
    [
      { unseenHeaders: [{ dialect: 'nginx', header: 'x-api-key', requests: 1_000 }] },
      200,
      { status: 'ok', unseen_headers: [{ dialect: 'nginx', header: 'x-api-key' }] },
    ],
    [
      { ready: false, unseenHeaders: [{ dialect: 'nginx', header: 'x-api-key', requests: 1_000 }] },
      503,
      { status: 'not_ready' },
    ],
  ])('of %j is %i %j', async (parts, status, says) => {
    health = { ...HEALTHY, ...parts };
    expect(await jsonOf('/readyz')).toEqual([status, says]);
  });

  test('is not liveness', async () => {
    health = { ...HEALTHY, ready: false };
    expect(await jsonOf('/livez')).toEqual([200, { status: 'ok' }]);
  });
});

test('scrapes of one turn are rendered once, and the next one again', async () => {
  await server.ready();
  const together = await Promise.all([send('/metrics'), send('/metrics')]);
  expect(together.map(({ body }) => body)).toEqual(['scrape 1', 'scrape 1']);
  const later = await send('/metrics');
  expect([later.statusCode, later.body]).toEqual([200, 'scrape 2']);
  expect(later.headers['content-type']).toBe('text/plain; version=0.0.4');
});

test('health and metrics need no token, from any host', async () => {
  start(TOKEN);
  for (const url of ['/livez', '/readyz', '/metrics', '/openapi.json']) {
    expect((await send(url, { headers: { host: 'gateway.example' } })).statusCode, url).toBe(200);
  }
  expect(events).toEqual([]);
});

describe('a call', () => {
  test.each<[string, Sent, string, object]>([
    ['/v1/policies', {}, 'listPolicies', {}],
    ['/v1/policies/a%2Fb/mode', { method: 'DELETE' }, 'restoreMode', { policy: 'a/b' }],
    [
      '/v1/policies/login/mode',
      { method: 'PUT', body: '{"mode":"shadow"}' },
      'setMode',
      { mode: 'shadow', policy: 'login' },
    ],
    ['/v1/policies/login/mode', { method: 'PUT' }, 'setMode', { policy: 'login' }],
  ])('%s %j reaches its operation', async (url, sent, name, input) => {
    expect(await jsonOf(url, sent)).toEqual([200, { name, input }]);
  });

  test.each<[string, Sent, string]>([
    ['/v1/policies/a/mode', { method: 'PUT', body: '[]' }, 'the body must be a JSON object'],
    ['/v1/policies/a/mode', { method: 'PUT', body: 'null' }, 'the body must be a JSON object'],
    ['/v1/policies/a/mode', { method: 'PUT', body: '"a"' }, 'the body must be a JSON object'],
    [
      '/v1/policies/a/mode',
      { method: 'PUT', body: '{"policy":"b"}' },
      'policy: is not known here, only in the path',
    ],
  ])('%s %j is invalid', async (url, sent, message) => {
    expect(await jsonOf(url, sent)).toEqual([400, { error: 'invalid', message }]);
  });

  test.each<[OperationErrorCode, number]>([
    ['invalid', 400],
    ['not_found', 404],
    ['not_possible', 409],
    ['conflict', 409],
    ['store_unavailable', 503],
    ['internal_error', 500],
  ])('that ends with %s is answered %i', async (code, status) => {
    operate = async () => {
      throw new OperationError(code, 'what to do');
    };
    expect(await jsonOf('/v1/policies')).toEqual([status, { error: code, message: 'what to do' }]);
    expect(events).toEqual([]);
  });

  test('that meets a fault is answered without its text, and reported', async () => {
    const fault = new Error('a secret of the code');
    operate = async () => {
      throw fault;
    };
    const message = 'A fault of headgate: see its log.';
    expect(await jsonOf('/v1/policies')).toEqual([500, { error: 'internal_error', message }]);
    expect(events).toEqual([fault]);
  });
});

describe('a query', () => {
  const inputOf = async (query: string) =>
    (await send(`/v1/clients/top?${query}`)).json().input as Record<string, unknown>;

  test('has numbers where the operation wants them, and text where it is none', async () => {
    const { limit } = await inputOf('limit=7');
    expect(limit).toBe(7);
    for (const text of ['', '-7', '7.5', '7x', 'x7', '1234567890'])
      expect((await inputOf(`limit=${text}`)).limit).toBe(text);
    expect((await inputOf('limit=123456789')).limit).toBe(123_456_789);
    expect((await inputOf('limit=1&limit=2')).limit).toEqual(['1', '2']);
  });

  test('has booleans where the operation wants them, and text where it is none', async () => {
    expect(await inputOf('shadow=true')).toEqual({ shadow: true });
    expect(await inputOf('shadow=false')).toEqual({ shadow: false });
    for (const text of ['', 'TRUE', '1', '0'])
      expect(await inputOf(`shadow=${text}`)).toEqual({ shadow: text });
    expect(await inputOf('limit=true')).toEqual({ limit: 'true' });
  });

  test('keeps what no schema knows as it is', async () => {
    expect(await inputOf('unknown=7&other=true')).toEqual({ unknown: '7', other: 'true' });
  });
});

describe('a refusal', () => {
  test('without the token names the scheme, and no operation runs', async () => {
    start(TOKEN);
    operate = async () => events.push('ran');
    const answer = await send('/v1/policies');
    expect(answer.statusCode).toBe(401);
    expect(answer.headers['www-authenticate']).toBe('Bearer');
    expect(answer.json().error).toBe('unauthorized');
    expect(events).toEqual(['refused']);
    const headers = { authorization: `Bearer ${TOKEN}` };
    expect((await send('/v1/policies', { headers })).statusCode).toBe(200);
  });

  test('of another machine has no scheme', async () => {
    const answer = await send('/v1/policies', { headers: { host: 'gateway.example' } });
    expect([answer.statusCode, answer.json().error]).toEqual([403, 'forbidden']);
    expect(answer.headers['www-authenticate']).toBeUndefined();
    expect(events).toEqual(['refused']);
  });

  test('of an unknown path says where things are', async () => {
    for (const url of ['/', '/v1', '/v1/nothing', '/v1/policies/', '/ui/']) {
      const { statusCode, json } = await send(url);
      expect([statusCode, json().error], url).toEqual([404, 'not_found']);
      expect(json().message).toContain('/openapi.json');
    }
    expect(events).toEqual([]);
  });

  test.each<[Sent['method'], string, string]>([
    ['POST', '/livez', 'GET, HEAD'],
    ['PUT', '/v1/policies?a#b', 'GET, HEAD'],
    ['GET', '/v1/policies/a/mode', 'PUT, DELETE'],
    ['PATCH', '/v1/policies/a/mode?x', 'PUT, DELETE'],
  ])('of %s %s says which methods are possible', async (method, url, allowed) => {
    const answer = await send(url, { method: method as 'GET' });
    expect([answer.statusCode, answer.headers.allow]).toEqual([405, allowed]);
    expect(answer.json()).toEqual({
      error: 'method_not_allowed',
      message: `${method} is not possible here. Use ${allowed.replace(', ', ' or ')}; /openapi.json describes the calls.`,
    });
  });

  test('of a body is invalid, with the status of what is wrong', async () => {
    const put = (body: string, headers = {}) =>
      send('/v1/policies/a/mode', { method: 'PUT', body, headers });
    const long = `{"a":"${'a'.repeat(256 * 1_024)}"}`;
    const answers = [
      await put('{'),
      await put('a', { 'content-type': 'text/html' }),
      await put(long),
    ];
    expect(answers.map(({ statusCode }) => statusCode)).toEqual([400, 415, 413]);
    expect(answers.map(({ json }) => json().error)).toEqual(['invalid', 'invalid', 'invalid']);
    expect(events).toEqual([]);
  });

  test('of a wrong percent-encoding does not repeat the path', async () => {
    const answer = await send('/v1/policies/%zz/mode', { method: 'PUT' });
    expect([answer.statusCode, answer.headers.connection]).toEqual([400, 'close']);
    expect(answer.json()).toEqual({
      error: 'invalid',
      message: 'The path has a wrong percent-encoding.',
    });
    const head = await send('/v1/%zz', { method: 'HEAD' });
    expect([head.statusCode, head.body]).toEqual([400, '']);
    expect(Number(head.headers['content-length'])).toBe(Buffer.byteLength(answer.body));
  });
});

describe('the description', () => {
  const described = async () => (await send('/openapi.json')).json();

  test('has every operation at its path and method', async () => {
    const { openapi, paths } = await described();
    expect(openapi).toBe('3.1.0');
    const mode = paths['/v1/policies/{policy}/mode'];
    expect(Object.keys(mode).sort()).toEqual(['delete', 'put']);
    expect([mode.put.operationId, mode.delete.operationId]).toEqual(['setMode', 'restoreMode']);
    expect(Object.keys(paths)).toEqual(
      expect.arrayContaining(['/livez', '/readyz', '/metrics', '/openapi.json', '/v1/policies']),
    );
  });

  test('has parameters of the path, which are required, and of the query', async () => {
    const { paths } = await described();
    const { put, delete: restore } = paths['/v1/policies/{policy}/mode'];
    const named = ({ parameters }: { parameters: readonly Record<string, unknown>[] }) =>
      parameters.map(({ name, in: place, required }) => ({ name, place, required }));
    const inPath = { name: 'policy', place: 'path', required: true };
    expect(named(put)).toEqual([inPath]);
    expect(named(restore)).toEqual([{ name: 'by', place: 'query', required: false }, inPath]);
    for (const { description, schema } of [...put.parameters, ...restore.parameters]) {
      expect(description).toMatch(/\w/);
      expect(schema).not.toHaveProperty('description');
    }
    const limit = paths['/v1/clients/top'].get.parameters.find(
      ({ name }: { name: string }) => name === 'limit',
    );
    expect(limit).toMatchObject({ in: 'query', required: false, schema: { type: 'integer' } });
    expect(paths['/v1/policies'].get).not.toHaveProperty('parameters');
  });

  test('has a body, and what can be wrong with it, only where there is one', async () => {
    const { put, delete: restore } = (await described()).paths['/v1/policies/{policy}/mode'];
    expect(put.requestBody.required).toBe(true);
    expect(put.requestBody.content['application/json'].schema.properties).toHaveProperty('mode');
    expect(Object.keys(put.responses)).toEqual(
      expect.arrayContaining(['413', '415', '400', '404', '409', '500', '503']),
    );
    expect(restore).not.toHaveProperty('requestBody');
    expect(Object.keys(restore.responses)).not.toContain('413');
    expect(Object.keys(restore.responses)).not.toContain('415');
  });

  test('says who may call', async () => {
    const open = await described();
    expect(open).not.toHaveProperty('components');
    expect(open.paths['/v1/policies'].get).not.toHaveProperty('security');
    expect(open.paths['/v1/policies'].get.responses).toHaveProperty('403');
    expect(open.paths['/v1/policies'].get.responses).not.toHaveProperty('401');
    start(TOKEN);
    const closed = await described();
    expect(closed.components.securitySchemes).toEqual({
      token: { type: 'http', scheme: 'bearer' },
    });
    expect(closed.paths['/v1/policies'].get.security).toEqual([{ token: [] }]);
    expect(closed.paths['/v1/policies'].get.responses).toHaveProperty('401');
    expect(closed.paths['/v1/policies'].get.responses).not.toHaveProperty('403');
    expect(closed.paths['/livez'].get).not.toHaveProperty('security');
  });
});
