/** Envoy's questions over gRPC to a real gateway, and what no Envoy would send. */
import { once } from 'node:events';
import { type ClientHttp2Session, type ClientHttp2Stream, connect } from 'node:http2';
import { connect as connectTcp, type Socket } from 'node:net';
import { gzipSync } from 'node:zlib';
import { status } from '@grpc/grpc-js';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type GatewayProcess, startGatewayProcess } from '../support/gateway.ts';
import {
  type Asked,
  type CheckReply,
  connectGrpc,
  envoyCheckRequest,
  type GrpcClient,
  headersTold,
} from '../support/grpc-client.ts';
import { call } from '../support/http.ts';
import { startProcess } from '../support/process.ts';
import { exchange } from '../support/raw-http.ts';
import { startRedis, testWithOwnRedis, testWithRedis } from '../support/redis.ts';
import { residentBytes } from '../support/resident-memory.ts';
import { MAIN, NODE } from '../support/tested-command.ts';

const SERVICE = 'envoy.service.auth.v3.Authorization';
const CHECK = `/${SERVICE}/Check`;
const LOGIN: Asked = { method: 'POST', path: '/api/auth/login' };
const MEGABYTE = 1024 * 1024;
/** Of a message. */
const MOST_BYTES = 512 * 1024;

const start = (env: NodeJS.ProcessEnv = {}) =>
  startGatewayProcess({ HEADGATE_GRPC_PORT: '0', ...env });

/** The status that the client gets; that of gRPC where there was no decision. */
function outcome({ code, message }: CheckReply): number | string {
  if (message === undefined) return status[code];
  return message.denied_response?.status.code ?? 200;
}

function told({ message }: CheckReply): Record<string, string> {
  return message === undefined ? {} : headersTold(message);
}

async function outcomes(times: number, ask: (i: number) => Promise<CheckReply>) {
  const found: (number | string)[] = [];
  for (let i = 0; i < times; i++) found.push(outcome(await ask(i)));
  return found;
}

async function metric(gateway: GatewayProcess, name: string): Promise<number> {
  const { body } = await call(gateway.opsUrl, '/metrics');
  const line = body.split('\n').find((each) => each.startsWith(`${name} `));
  return Number(line?.slice(name.length) ?? 0);
}

describe('Envoy', () => {
  let gateway: GatewayProcess;
  let client: GrpcClient;
  let clients = 0;
  let peer: string;

  beforeAll(async () => {
    gateway = await start();
    client = connectGrpc(gateway.grpcPort);
  });
  // Nobody has counted it yet.
  beforeEach(() => {
    peer = `198.51.100.${++clients}`;
  });
  afterAll(async () => {
    client[Symbol.dispose]();
    await gateway.stop();
  });

  const login = (asked: Asked = {}) =>
    client.check(envoyCheckRequest({ ...LOGIN, peer, ...asked }));
  const counts = async () => ({
    allowed: await metric(gateway, 'headgate_decisions_total{policy="login",verdict="allow"}'),
    denied: await metric(gateway, 'headgate_decisions_total{policy="login",verdict="deny"}'),
    measured: await metric(gateway, 'headgate_decision_duration_seconds_count'),
    repeated: await metric(gateway, 'headgate_repeated_checks_total'),
  });

  test('gets five allows, and a denial that says everything; each is counted', async () => {
    for (const remaining of ['4', '3', '2', '1', '0']) {
      const allowed = await login();
      expect(outcome(allowed)).toBe(200);
      expect(told(allowed)['x-ratelimit-remaining']).toBe(remaining);
    }
    const denied = await login();
    expect(outcome(denied)).toBe(429);
    expect(told(denied)).toMatchObject({
      'content-type': 'application/json',
      'retry-after': expect.stringMatching(/^(300|29\d)$/),
      'x-ratelimit-policy': 'login',
    });
    expect(JSON.parse(denied.message?.denied_response?.body ?? '').error).toBe(
      'rate_limit_exceeded',
    );
    expect(await counts()).toEqual({ allowed: 5, denied: 1, measured: 6, repeated: 0 });
  });

  test('is counted together with proxies that ask over HTTP', async () => {
    await outcomes(3, () => login());
    const headers = { 'x-headgate-client-ip': peer };
    const overHttp = () => call(gateway.url, '/envoy/api/auth/login', { method: 'POST', headers });
    expect((await overHttp()).headers['x-ratelimit-remaining']).toBe('1');
    expect((await overHttp()).status).toBe(200);
    expect(outcome(await login())).toBe(429);
  });

  test('has each of its clients counted by itself', async () => {
    const from = (address: string) => outcomes(6, () => login({ peer: address }));
    expect(await from(peer)).toEqual([200, 200, 200, 200, 200, 429]);
    expect(await from('2001:db8::1')).toEqual([200, 200, 200, 200, 200, 429]);
  });

  describe('asks twice about one request', () => {
    const contextExtensions = { request_id: 'x-request-id' };
    const identified = (id: string) =>
      login({ contextExtensions, headers: { 'x-request-id': `${id} of ${peer}` } });

    test('and it is counted once', async () => {
      const before = await counts();
      const remaining: unknown[] = [];
      for (const id of ['one', 'one', 'one', 'two']) {
        remaining.push(told(await identified(id))['x-ratelimit-remaining']);
      }
      expect(remaining).toEqual(['4', '4', '4', '3']);
      const { allowed, measured, repeated } = await counts();
      expect(allowed - before.allowed).toBe(2);
      expect(measured - before.measured).toBe(2);
      expect(repeated - before.repeated).toBe(2);
    });
    test('at the same moment, and it is counted once', async () => {
      const replies = await Promise.all(Array.from({ length: 20 }, () => identified('one')));
      expect(new Set(replies.map((it) => told(it)['x-ratelimit-remaining']))).toEqual(
        new Set(['4']),
      );
    });
    test('and it is denied again', async () => {
      await outcomes(5, () => login());
      const before = await counts();
      expect(await outcomes(2, () => identified('one'))).toEqual([429, 429]);
      expect((await counts()).denied - before.denied).toBe(1);
    });
    test('but a route that does not say so believes no id of its client', async () => {
      const before = await counts();
      const headers = { 'x-request-id': 'one', 'x-headgate-request-id': 'one', request_id: 'one' };
      expect(await outcomes(6, () => login({ headers }))).toEqual([200, 200, 200, 200, 200, 429]);
      expect((await counts()).repeated).toBe(before.repeated);
    });
  });
});

describe('over HTTP', () => {
  let gateway: GatewayProcess;
  beforeAll(async () => {
    gateway = await start({ HEADGATE_GRPC_PORT: 'off' });
  });
  afterAll(() => gateway.stop());

  test('is all there is, with HEADGATE_GRPC_PORT=off', () => {
    expect(gateway.output()).toContain('proxies at http://');
    expect(gateway.output()).not.toContain('grpc');
  });

  const IDS = { 'x-headgate-request-id': 'one', 'x-request-id': 'one' };
  const remainingOfThree = async (path: string, headers: Record<string, string>) => {
    const found = [];
    for (let i = 0; i < 3; i++) {
      const { headers: answered } = await call(gateway.url, path, { headers });
      found.push(Number(answered['x-ratelimit-remaining']));
    }
    return found;
  };
  /** How each of them says which client asks, and what for. */
  const asking = (address: string) => ({
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

  test.each(['/envoy/a', '/nginx'])('%s counts an id that its proxy sends once', async (path) => {
    const client = { ...asking(`203.0.113.${path.length}`), 'x-headgate-request-id': path };
    expect(await remainingOfThree(path, client)).toEqual([999, 999, 999]);
  });
  test.each(['/envoy/a', '/nginx'])('%s does not know the id of a client', async (path) => {
    const client = { ...asking(`203.0.113.1${path.length}`), 'x-request-id': path };
    expect(await remainingOfThree(path, client)).toEqual([999, 998, 997]);
  });
  test.each(['/caddy', '/traefik', '/haproxy', '/ingress-nginx'])(
    '%s passes on what its clients send, and reads no id',
    async (path) => {
      const [first = 0, ...others] = await remainingOfThree(path, {
        ...asking(`203.0.113.2${path.length}`),
        ...IDS,
      });
      expect(others).toEqual([first - 1, first - 2]);
    },
  );
});

/** A message as it is framed: not compressed, and as long as it is. */
function frame(message: Uint8Array, { compressed = 0, length = message.length } = {}): Buffer {
  const head = Buffer.alloc(5);
  head.writeUInt8(compressed, 0);
  head.writeUInt32BE(length, 1);
  return Buffer.concat([head, message]);
}

/** A field of a message that holds bytes: its number, their length, themselves. */
function field(number: number, ...parts: Uint8Array[]): Buffer {
  const bytes = Buffer.concat(parts);
  return Buffer.concat([varint(number * 8 + 2), varint(bytes.length), bytes]);
}

function varint(value: number): Buffer {
  const bytes: number[] = [];
  for (let rest = value; ; rest = Math.floor(rest / 128)) {
    if (rest < 128) return Buffer.from([...bytes, rest]);
    bytes.push((rest % 128) + 128);
  }
}

const METHOD = field(2, Buffer.from('GET'));
const questionOf = (...http: Uint8Array[]) => field(1, field(4, field(2, METHOD, ...http)));
const QUESTION = questionOf(field(4, Buffer.from('/a')));
const NO_TEXT = Buffer.from([0x61, 0xff, 0xfe, 0xc0, 0x80, 0xed, 0xa0, 0x80]);

async function openSession(port: number): Promise<ClientHttp2Session> {
  const session = connect(`http://127.0.0.1:${port}`);
  session.on('error', () => {});
  await once(session, 'remoteSettings');
  return session;
}

function openStream(
  session: ClientHttp2Session,
  headers: Record<string, string | string[]> = {},
): ClientHttp2Stream {
  const stream = session.request({
    ':method': 'POST',
    ':path': CHECK,
    'content-type': 'application/grpc',
    te: 'trailers',
    ...headers,
  });
  return stream.on('error', () => {});
}

/** Of gRPC, or of HTTP where there is none: `grpc 3`, `http 415`; `reset` when there was no answer. */
async function statusOf(stream: ClientHttp2Stream): Promise<string> {
  let found = 'reset';
  stream.on('response', (head) => {
    const code = head['grpc-status'];
    found = code === undefined ? `http ${head[':status']}` : `grpc ${code}`;
  });
  stream.on('trailers', ({ 'grpc-status': code }) => {
    found = `grpc ${code}`;
  });
  stream.resume();
  // Without an error, or with one.
  await new Promise((resolve) => stream.once('close', resolve));
  return found;
}

describe('what no Envoy sends', () => {
  let gateway: GatewayProcess;
  let client: GrpcClient;
  let session: ClientHttp2Session;

  beforeAll(async () => {
    gateway = await start();
    client = connectGrpc(gateway.grpcPort);
    session = await openSession(gateway.grpcPort);
  });
  afterAll(async () => {
    session.destroy();
    client[Symbol.dispose]();
    await gateway.stop();
  });
  afterEach(async () => {
    expect(outcome(await client.check(envoyCheckRequest()))).toBe(200);
    expect((await call(gateway.url, '/envoy/a')).status).toBe(200);
    expect(await metric(gateway, 'headgate_check_faults_total{dialect="envoy-grpc"}')).toBe(0);
    // Nothing but what is ours to say: no traces, and no bytes of a caller's.
    const [, log = ''] = gateway.output().split(/try .*\n/);
    for (const line of log.split('\n')) expect(line).toMatch(/^({.*})?$/);
  });

  const sent = async (bytes: Uint8Array, headers = {}) => {
    const stream = openStream(session, headers);
    stream.end(bytes);
    return statusOf(stream);
  };

  test.each<[string, Uint8Array]>([
    ['an empty message', Buffer.alloc(0)],
    ['a message with other fields alone', field(9, Buffer.from('what'))],
    ['one about no HTTP request', field(1, field(1, Buffer.alloc(0)))],
  ])('is told so: %s', async (_, message) => {
    expect(outcome(await client.send(message))).toBe('INVALID_ARGUMENT');
  });

  test.each<[string, Uint8Array]>([
    ['noise', Buffer.alloc(100, 0xff)],
    ['text', Buffer.from('GET / HTTP/1.1\r\n\r\n')],
    ['a length beyond the end', Buffer.from([0x0a, 0x7f, 0x00])],
    ['a number without an end', Buffer.alloc(20, 0x80)],
    ['groups within groups', Buffer.alloc(100_000, 0x0b)],
    ['field number zero', Buffer.from([0x02, 0x01, 0x00])],
  ])('cannot be read, and is never an allow: %s', async (_, message) => {
    const { code, message: answer } = await client.send(message);
    expect(answer).toBeUndefined();
    expect(code).not.toBe(status.OK);
  });

  test('every message that is cut short is an error, or about no HTTP request', async () => {
    const whole = questionOf(field(3, field(1, Buffer.from('a')), field(2, Buffer.from('b'))));
    for (let length = 0; length < whole.length; length++) {
      const { code } = await client.send(whole.subarray(0, length));
      expect([status.INTERNAL, status.INVALID_ARGUMENT]).toContain(code);
    }
    expect(outcome(await client.send(whole))).toBe(200);
  });

  test.each<[string, Uint8Array]>([
    ['method', field(1, field(4, field(2, field(2, NO_TEXT))))],
    ['path', questionOf(field(4, NO_TEXT))],
    ['host', questionOf(field(5, NO_TEXT))],
    ['name of a header', questionOf(field(3, field(1, NO_TEXT), field(2, METHOD)))],
    ['header', questionOf(field(3, field(1, Buffer.from('x-api-key')), field(2, NO_TEXT)))],
    ['name in header_map', questionOf(field(13, field(1, field(1, NO_TEXT))))],
    ['value in header_map', questionOf(field(13, field(1, field(2, NO_TEXT))))],
    [
      'context extension',
      field(1, field(4, field(2, METHOD)), field(10, field(1, NO_TEXT), field(2, NO_TEXT))),
    ],
    [
      'address',
      field(1, field(1, field(1, field(1, field(2, NO_TEXT)))), field(4, field(2, METHOD))),
    ],
  ])('is no UTF-8 where there must be: %s', async (name, message) => {
    expect(outcome(await client.send(message))).toBe(name === 'host' ? 400 : 200);
  });

  test('is a path that no server should see', async () => {
    expect(outcome(await client.check(envoyCheckRequest({ path: '/a\r\nX: y' })))).toBe(400);
    expect(outcome(await client.check(envoyCheckRequest({ path: '/a%00' })))).toBe(400);
  });

  test.each([
    ['*', 'OPTIONS'],
    ['', 'CONNECT'],
    ['api.example.com:443', 'CONNECT'],
  ])('is for another kind of proxy: %s', async (path, method) => {
    expect(outcome(await client.check(envoyCheckRequest({ path, method })))).toBe(200);
  });

  test('names a policy that there is not: matched like any other, and said so', async () => {
    const contextExtensions = { policy: '__proto__' };
    const reply = await client.check(envoyCheckRequest({ contextExtensions }));
    expect(told(reply)['x-ratelimit-limit']).toBe('1000');
    expect(await metric(gateway, 'headgate_unknown_policy_total')).toBe(1);
  });

  test('is longer than any Envoy sends', async () => {
    for (const bytes of [MOST_BYTES + 1, 4 * MEGABYTE]) {
      const { code, message } = await client.send(Buffer.alloc(bytes));
      expect({ code, message }).toEqual({ code: status.RESOURCE_EXHAUSTED, message: undefined });
    }
    // By its word alone.
    expect(await sent(frame(Buffer.alloc(0), { length: 2 ** 32 - 1 }))).toBe('grpc 8');
  });

  test('grows to a hundred megabytes when it is unpacked: no more than is read of any is', async () => {
    const packed = gzipSync(Buffer.alloc(100 * MEGABYTE));
    expect(packed.length).toBeLessThan(MOST_BYTES);
    const before = residentBytes(gateway.pid);
    for (let i = 0; i < 5; i++) {
      const gzipped = { 'grpc-encoding': 'gzip' };
      expect(await sent(frame(packed, { compressed: 1 }), gzipped)).toBe('grpc 8');
    }
    expect(residentBytes(gateway.pid) - before).toBeLessThan(100 * MEGABYTE);
  });

  test.each<[string, Buffer, Record<string, string>, string]>([
    [
      'compressed, and is not',
      frame(QUESTION, { compressed: 1 }),
      { 'grpc-encoding': 'gzip' },
      '13',
    ],
    [
      'compressed in a way of its own',
      frame(QUESTION, { compressed: 1 }),
      { 'grpc-encoding': 'x' },
      '12',
    ],
    ['half a message', frame(QUESTION).subarray(0, 12), {}, '12'],
    ['no message', Buffer.alloc(0), {}, '12'],
    ['two messages', Buffer.concat([frame(QUESTION), frame(QUESTION)]), {}, '12'],
  ])('says that it is %s', async (_, bytes, headers, code) => {
    expect(await sent(bytes, headers)).toBe(`grpc ${code}`);
  });

  test('can be compressed, as gRPC has it', async () => {
    const gzipped = frame(gzipSync(QUESTION), { compressed: 1 });
    expect(await sent(gzipped, { 'grpc-encoding': 'gzip' })).toBe('grpc 0');
  });

  test.each([
    '/Check',
    `/${SERVICE}/check`,
    '/envoy.service.auth.v2.Authorization/Check',
    '/',
    '/__proto__',
  ])('asks for what there is not: %s', async (path) => {
    expect(outcome(await client.send(QUESTION, path))).toBe('UNIMPLEMENTED');
  });

  test('is HTTP/2 and not gRPC', async () => {
    expect(await sent(frame(QUESTION), { 'content-type': 'application/json' })).toBe('http 415');
  });

  test('holds odd bytes in its metadata, which no log shows', async () => {
    expect(await sent(frame(QUESTION), { 'x-headgate-secret': 'caf\u00e9' })).toBe('grpc 0');
    expect(gateway.output()).not.toContain('caf');
  });

  test.each([
    ['HTTP/1.1', 'GET /envoy/a HTTP/1.1\r\nHost: a\r\n\r\n'],
    ['TLS', Buffer.from('16030100f8010000f40303', 'hex')],
    ['the preface and noise', `PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n${'\xff'.repeat(100)}`],
  ])('is another protocol: %s', async (_, bytes) => {
    const answer = await exchange(`http://127.0.0.1:${gateway.grpcPort}`, bytes, 2_000);
    expect(answer).not.toContain('200');
  });

  test('says nothing at all, five hundred times', async () => {
    await using sockets = new AsyncDisposableStack();
    for (let i = 0; i < 500; i++) {
      const socket: Socket = connectTcp(gateway.grpcPort, '127.0.0.1').on('error', () => {});
      sockets.defer(() => void socket.destroy());
      await once(socket, 'connect');
    }
    using other = connectGrpc(gateway.grpcPort);
    expect(outcome(await other.check(envoyCheckRequest()))).toBe(200);
  });

  test('asks to watch services that there are not, and nothing of it is remembered', async () => {
    const before = residentBytes(gateway.pid);
    for (let i = 0; i < 300; i++) {
      const name = Buffer.alloc(MOST_BYTES - 10, `${i} `);
      const stream = openStream(session, { ':path': '/grpc.health.v1.Health/Watch' });
      stream.end(frame(field(1, name)));
      const [answer] = await once(stream, 'data');
      // SERVICE_UNKNOWN.
      expect([...answer]).toEqual([0, 0, 0, 0, 2, 8, 3]);
      stream.close();
    }
    expect(residentBytes(gateway.pid) - before).toBeLessThan(100 * MEGABYTE);
  });
});

describe('ten thousand streams at once', () => {
  const SESSIONS = 50;
  const STREAMS_EACH = 200;
  let gateway: GatewayProcess;
  const stack = new AsyncDisposableStack();
  let grownBytes: number;
  const statuses: Promise<string>[] = [];
  let unfinished = 0;

  beforeAll(async () => {
    gateway = stack.use(await start());
    using warm = connectGrpc(gateway.grpcPort);
    await warm.check(envoyCheckRequest());
    const before = residentBytes(gateway.pid);
    const sessions = await Promise.all(
      Array.from({ length: SESSIONS }, () => openSession(gateway.grpcPort)),
    );
    for (const session of sessions) stack.defer(() => session.destroy());
    for (let i = 0; i < SESSIONS * STREAMS_EACH; i++) {
      const session = sessions[i % SESSIONS] as ClientHttp2Session;
      const stream = openStream(session);
      if (i % 4 === 0) {
        stream.write(frame(QUESTION).subarray(0, 10));
        unfinished++;
      } else {
        stream.end(frame(QUESTION));
        statuses.push(statusOf(stream));
      }
    }
    await Promise.all(statuses);
    grownBytes = residentBytes(gateway.pid) - before;
  });
  afterAll(() => stack.disposeAsync());

  test('are answered, all that ask to the end', async () => {
    expect(new Set(await Promise.all(statuses))).toEqual(new Set(['grpc 0']));
    expect(unfinished).toBe(2_500);
    expect(await metric(gateway, 'headgate_decision_duration_seconds_count')).toBe(7_501);
  });
  test('take a bounded part of the memory', () => {
    // One stream with all that Node and gRPC keep for it takes some 20 KiB; as much again is not collected yet.
    expect(grownBytes).toBeLessThan(SESSIONS * STREAMS_EACH * 40 * 1_024);
  });
  test('leave a gateway that answers both ways', async () => {
    using client = connectGrpc(gateway.grpcPort);
    expect(outcome(await client.check(envoyCheckRequest()))).toBe(200);
    const headers = { 'x-headgate-client-ip': '203.0.113.9' };
    expect((await call(gateway.url, '/envoy/a', { headers })).status).toBe(200);
  });
  test('do not keep it from ending', async () => {
    const startedMs = performance.now();
    expect(await gateway.stop()).toBe(0);
    expect(performance.now() - startedMs).toBeLessThan(3_000);
  });
});

describe('the secret', () => {
  const SECRET = 'a-secret-of-this-test';
  const OTHER = 'another-secret-of-this-test';
  let gateway: GatewayProcess;
  let client: GrpcClient;
  beforeAll(async () => {
    gateway = await start({ HEADGATE_PROXY_SECRET: `${SECRET},${OTHER}` });
    client = connectGrpc(gateway.grpcPort);
  });
  afterAll(async () => {
    client[Symbol.dispose]();
    await gateway.stop();
  });

  const name = 'x-headgate-secret';

  test.each([SECRET, OTHER])('opens, sent as metadata: %s', async (secret) => {
    expect(outcome(await client.check(envoyCheckRequest(), { [name]: secret }))).toBe(200);
  });
  test.each([
    ['none', {}],
    ['a wrong one', { [name]: 'another-secret' }],
    ['an empty one', { [name]: '' }],
    ['one twice', { [name]: [SECRET, SECRET] }],
    ['both', { [name]: [SECRET, OTHER] }],
    ['one among others', { [name]: ['a', SECRET] }],
    ['one under another name', { 'x-headgate-secrets': SECRET }],
  ])('is missing: %s', async (_, metadata) => {
    const before = await metric(gateway, 'headgate_strangers_refused_total');
    const reply = await client.check(envoyCheckRequest(LOGIN), metadata);
    expect(outcome(reply)).toBe(403);
    expect(reply.message?.status.code).toBe(status.PERMISSION_DENIED);
    expect(reply.message?.denied_response?.body).toContain('"forbidden"');
    expect(await metric(gateway, 'headgate_strangers_refused_total')).toBe(before + 1);
  });
  test('is not looked for in the client’s headers', async () => {
    const asked = envoyCheckRequest({ headers: { [name]: SECRET } });
    expect(outcome(await client.check(asked))).toBe(403);
  });
  test('is not asked of who probes for health', async () => {
    expect((await client.health()).message).toEqual({ status: 'SERVING' });
  });
});

// Each with a gateway of its own, which for the most part is waited for.
describe.concurrent('the end', () => {
  const DRAIN_MS = 700;

  test('waits for nobody who is merely connected', async () => {
    // As long as this, and half a second, it would wait for who does not finish.
    await using gateway = await start({ HEADGATE_STORE_TIMEOUT_MS: '5000' });
    using client = connectGrpc(gateway.grpcPort);
    await client.check(envoyCheckRequest());
    const silent = connectTcp(gateway.grpcPort, '127.0.0.1').resume();
    await once(silent, 'connect');
    const startedMs = performance.now();
    expect(await gateway.stop()).toBe(0);
    expect(performance.now() - startedMs).toBeLessThan(3_000);
  });

  test('is announced by health services, and a question is answered until then', async () => {
    await using gateway = await start({ HEADGATE_DRAIN_MS: String(DRAIN_MS) });
    using client = connectGrpc(gateway.grpcPort);
    for (const service of ['', SERVICE]) {
      expect((await client.health(service)).message).toEqual({ status: 'SERVING' });
    }
    expect((await client.health('nobody')).code).toBe(status.NOT_FOUND);
    const session = await openSession(gateway.grpcPort);
    const watch = client.watchHealth(SERVICE).on('error', () => {});
    expect(await once(watch, 'data')).toEqual([{ status: 'SERVING' }]);
    gateway.signal('SIGTERM');
    const startedMs = performance.now();
    expect(await once(watch, 'data')).toEqual([{ status: 'NOT_SERVING' }]);
    // Those who are connected, who may have a question on its way, and those who come now.
    const stream = openStream(session).end(frame(QUESTION));
    expect(await statusOf(stream)).toBe('grpc 0');
    using late = connectGrpc(gateway.grpcPort);
    for (const each of [client, late]) {
      for (const service of ['', SERVICE]) {
        expect((await each.health(service)).message).toEqual({ status: 'NOT_SERVING' });
      }
      expect(outcome(await each.check(envoyCheckRequest()))).toBe(200);
    }
    expect(await gateway.exited()).toBe(0);
    const tookMs = performance.now() - startedMs;
    expect(tookMs).toBeGreaterThan(DRAIN_MS - 100);
    expect(tookMs).toBeLessThan(DRAIN_MS + 3_000);
  });

  test.each(['SIGTERM', 'SIGINT'] as const)(
    'comes soon after %s, whatever callers leave open',
    async (signal) => {
      await using gateway = await start({ HEADGATE_DRAIN_MS: '100' });
      using client = connectGrpc(gateway.grpcPort);
      const watch = client.watchHealth().on('error', () => {});
      await once(watch, 'data');
      const session = await openSession(gateway.grpcPort);
      const never = openStream(session);
      never.write(frame(QUESTION).subarray(0, 10));
      const deaf = connectTcp({ port: gateway.grpcPort, allowHalfOpen: true }).on(
        'error',
        () => {},
      );
      await once(deaf, 'connect');
      const startedMs = performance.now();
      gateway.signal(signal);
      expect(await gateway.exited()).toBe(0);
      // What is never finished is cut off after half a second, as it is over HTTP.
      expect(performance.now() - startedMs).toBeLessThan(4_000);
      expect(gateway.output()).not.toContain('stopped_by_force');
      session.destroy();
      deaf.destroy();
    },
  );

  testWithOwnRedis.each([
    ['SIGTERM', '200'],
    ['SIGINT', '0'],
  ] as const)(
    'comes after what is under way is answered: %s, %s ms of drain',
    async (signal, drain) => {
      await using redis = await startRedis();
      await using gateway = await start({
        HEADGATE_REDIS_URL: redis.url,
        HEADGATE_STORE_TIMEOUT_MS: '300',
        HEADGATE_DRAIN_MS: drain,
      });
      using client = connectGrpc(gateway.grpcPort);
      const search = () => client.check(envoyCheckRequest({ path: '/api/search' }));
      expect(outcome(await search())).toBe(200);
      redis.signal('SIGSTOP');
      // It waits for Redis now: what was sent after it on the same connection is answered.
      const underWay = search();
      await client.health();
      gateway.signal(signal);
      expect(told(await underWay)).toEqual({ 'x-ratelimit-mode': 'open' });
      redis.signal('SIGCONT');
      expect(await gateway.exited()).toBe(0);
    },
  );
});

describe.concurrent('the beginning', () => {
  test('a taken port is named, with exit code 1', async () => {
    await using gateway = await start();
    const env = {
      ...process.env,
      HEADGATE_PORT: '0',
      HEADGATE_OPS_PORT: '0',
      HEADGATE_GRPC_PORT: String(gateway.grpcPort),
    };
    const second = startProcess(NODE, [MAIN], { env });
    expect(await second.exited()).toBe(1);
    expect(second.output()).toMatch(
      new RegExp(
        `^headgate: port ${gateway.grpcPort} is taken, choose .*HEADGATE_GRPC_PORT.*$`,
        'm',
      ),
    );
  });

  testWithRedis('workers answer on one port, and hold one limit', async () => {
    await using redis = await startRedis();
    await using gateway = await start({ HEADGATE_REDIS_URL: redis.url, HEADGATE_WORKERS: '2' });
    // Each on a connection of its own, so that both have a turn.
    const codes = await outcomes(8, async () => {
      using client = connectGrpc(gateway.grpcPort);
      return await client.check(envoyCheckRequest(LOGIN));
    });
    expect(codes).toEqual([200, 200, 200, 200, 200, 429, 429, 429]);
    expect(await metric(gateway, 'headgate_decision_duration_seconds_count')).toBe(8);
    gateway.signal('SIGTERM');
    expect(await gateway.exited()).toBe(0);
  });
});
