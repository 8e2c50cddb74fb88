/** Messages, streams and connections that no Envoy sends to the gRPC port. */
import { once } from 'node:events';
import type { ClientHttp2Session } from 'node:http2';
import { connect, type Socket } from 'node:net';
import { gzipSync } from 'node:zlib';
import { status } from '@grpc/grpc-js';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { type GatewayProcess, startGatewayProcess } from '../support/gateway.ts';
import { connectGrpc, envoyCheckRequest, type GrpcClient } from '../support/grpc-client.ts';
import {
  AUTHORIZATION,
  CHECK_MESSAGE,
  checkWith,
  field,
  frame,
  METHOD,
  openSession,
  openStream,
  statusOf,
} from '../support/grpc-frames.ts';
import { headersOf, outcome } from '../support/grpc-outcomes.ts';
import { call } from '../support/http.ts';
import { PREFACE } from '../support/http2-frames.ts';
import { metric } from '../support/metrics.ts';
import { exchange } from '../support/raw-http.ts';
import { residentBytes } from '../support/resident-memory.ts';

const MEGABYTE = 1024 * 1024;
const MAX_MESSAGE_BYTES = 512 * 1024;
const NOT_UTF8 = Buffer.from([0x61, 0xff, 0xfe, 0xc0, 0x80, 0xed, 0xa0, 0x80]);
const GZIP = { 'grpc-encoding': 'gzip' };

let gateway: GatewayProcess;
beforeAll(async () => {
  gateway = await startGatewayProcess({ HEADGATE_GRPC_PORT: '0' });
});
afterAll(() => gateway.stop());

describe('a gateway still answers, and logs nothing that a caller sent, after', () => {
  let client: GrpcClient;
  let session: ClientHttp2Session;

  beforeAll(async () => {
    client = connectGrpc(gateway.grpcPort);
    session = await openSession(gateway.grpcPort);
    // A connection without a request is closed after some seconds.
    expect(await send(frame(CHECK_MESSAGE))).toBe('grpc 0');
  });
  afterAll(() => {
    session.destroy();
    client[Symbol.dispose]();
  });
  afterEach(async () => {
    expect(outcome(await client.check(envoyCheckRequest()))).toBe(200);
    expect((await call(gateway.url, '/envoy/a')).status).toBe(200);
    expect(await metric(gateway, 'headgate_check_faults_total{dialect="envoy-grpc"}')).toBe(0);
    const [, log = ''] = gateway.output().split(/try .*\n/);
    for (const line of log.split('\n')) expect(line).toMatch(/^({.*})?$/);
  });

  const send = async (bytes: Uint8Array, headers = {}) => {
    const stream = openStream(session, headers);
    stream.end(bytes);
    return statusOf(stream);
  };

  test.each<[string, Uint8Array]>([
    ['an empty message', Buffer.alloc(0)],
    ['a message with unknown fields only', field(9, Buffer.from('what'))],
    ['a check that is not about an HTTP request', field(1, field(1, Buffer.alloc(0)))],
  ])('%s, which is an invalid argument', async (_, message) => {
    expect(outcome(await client.send(message))).toBe('INVALID_ARGUMENT');
  });

  test.each<[string, Uint8Array]>([
    ['noise', Buffer.alloc(100, 0xff)],
    ['text', Buffer.from('GET / HTTP/1.1\r\n\r\n')],
    ['a length beyond the end', Buffer.from([0x0a, 0x7f, 0x00])],
    ['a number without an end', Buffer.alloc(20, 0x80)],
    ['groups within groups', Buffer.alloc(100_000, 0x0b)],
    ['field number zero', Buffer.from([0x02, 0x01, 0x00])],
  ])('%s, which is not allowed', async (_, message) => {
    const { code, message: answer } = await client.send(message);
    expect(answer).toBeUndefined();
    expect(code).not.toBe(status.OK);
  });

  test.each<[string, string]>([
    ['nothing', ''],
    ['a part of the preface', PREFACE.slice(0, 3)],
    ['a part of a frame', `${PREFACE}\x00\x00\x06\x04\x00`],
    ['a frame that is too long', `${PREFACE}\xff\xff\xff\x01\x04\x00\x00\x00\x01`],
    ['HTTP/1', 'GET / HTTP/1.1\r\nHost: a\r\n\r\n'],
    ['a megabyte', 'x'.repeat(MEGABYTE)],
  ])('a connection that ends, or is reset, after %s', async (_, sent) => {
    for (const end of ['resetAndDestroy', 'end', 'destroy'] as const) {
      const socket = connect(gateway.grpcPort, '127.0.0.1').on('error', () => {});
      await once(socket, 'connect');
      if (sent !== '') await new Promise<unknown>((done) => socket.write(sent, 'latin1', done));
      socket[end]();
      if (!socket.closed) await once(socket.resume(), 'close');
    }
  });

  test('a message that is cut short at any byte', async () => {
    const whole = checkWith(field(3, field(1, Buffer.from('a')), field(2, Buffer.from('b'))));
    for (let length = 0; length < whole.length; length++) {
      const { code } = await client.send(whole.subarray(0, length));
      expect([status.INTERNAL, status.INVALID_ARGUMENT]).toContain(code);
    }
    expect(outcome(await client.send(whole))).toBe(200);
  });

  test.each<[string, Uint8Array]>([
    ['method', field(1, field(4, field(2, field(2, NOT_UTF8))))],
    ['path', checkWith(field(4, NOT_UTF8))],
    ['host', checkWith(field(5, NOT_UTF8))],
    ['name of a header', checkWith(field(3, field(1, NOT_UTF8), field(2, METHOD)))],
    ['header', checkWith(field(3, field(1, Buffer.from('x-api-key')), field(2, NOT_UTF8)))],
    ['name in header_map', checkWith(field(13, field(1, field(1, NOT_UTF8))))],
    ['value in header_map', checkWith(field(13, field(1, field(2, NOT_UTF8))))],
    [
      'context extension',
      field(1, field(4, field(2, METHOD)), field(10, field(1, NOT_UTF8), field(2, NOT_UTF8))),
    ],
    [
      'address',
      field(1, field(1, field(1, field(1, field(2, NOT_UTF8)))), field(4, field(2, METHOD))),
    ],
  ])('a %s that is not UTF-8', async (name, message) => {
    // No server should see such a target.
    expect(outcome(await client.send(message))).toBe(/path|host/.test(name) ? 400 : 200);
  });

  test.each(['/a\r\nX: y', '/a%00'])('a malformed path: %j', async (path) => {
    expect(outcome(await client.check(envoyCheckRequest({ path })))).toBe(400);
  });

  test.each([
    ['*', 'OPTIONS'],
    ['', 'CONNECT'],
    ['api.example.com:443', 'CONNECT'],
  ])('a target that is no path: %j with %s', async (path, method) => {
    expect(outcome(await client.check(envoyCheckRequest({ path, method })))).toBe(200);
  });

  test('a policy name that does not exist: the request is matched by its path', async () => {
    const contextExtensions = { policy: '__proto__' };
    const reply = await client.check(envoyCheckRequest({ contextExtensions }));
    expect(headersOf(reply)['x-ratelimit-limit']).toBe('1000');
    expect(await metric(gateway, 'headgate_unknown_policy_total')).toBe(1);
  });

  test('a message that is too long', async () => {
    for (const bytes of [MAX_MESSAGE_BYTES + 1, 4 * MEGABYTE]) {
      const { code, message } = await client.send(Buffer.alloc(bytes));
      expect({ code, message }).toEqual({ code: status.RESOURCE_EXHAUSTED, message: undefined });
    }
    const announced = frame(Buffer.alloc(0), { length: 2 ** 32 - 1 });
    expect(await send(announced)).toBe('grpc 8');
  });

  test('a small message that unpacks to a hundred megabytes', async () => {
    const packed = gzipSync(Buffer.alloc(100 * MEGABYTE));
    expect(packed.length).toBeLessThan(MAX_MESSAGE_BYTES);
    const before = residentBytes(gateway.pid);
    for (let i = 0; i < 5; i++) {
      expect(await send(frame(packed, { compressed: 1 }), GZIP)).toBe('grpc 8');
    }
    expect(residentBytes(gateway.pid) - before).toBeLessThan(100 * MEGABYTE);
  });

  test.each<[string, Buffer, Record<string, string>, string]>([
    ['is not compressed but says so', frame(CHECK_MESSAGE, { compressed: 1 }), GZIP, '13'],
    [
      'is compressed in an unknown way',
      frame(CHECK_MESSAGE, { compressed: 1 }),
      { 'grpc-encoding': 'x' },
      '12',
    ],
    ['stops in the middle', frame(CHECK_MESSAGE).subarray(0, 12), {}, '12'],
    ['is missing', Buffer.alloc(0), {}, '12'],
    [
      'is followed by another one',
      Buffer.concat([frame(CHECK_MESSAGE), frame(CHECK_MESSAGE)]),
      {},
      '12',
    ],
  ])('a message that %s', async (_, bytes, headers, code) => {
    expect(await send(bytes, headers)).toBe(`grpc ${code}`);
  });

  test('a compressed message, which is read', async () => {
    const gzipped = frame(gzipSync(CHECK_MESSAGE), { compressed: 1 });
    expect(await send(gzipped, GZIP)).toBe('grpc 0');
  });

  test.each([
    '/Check',
    `/${AUTHORIZATION}/check`,
    '/envoy.service.auth.v2.Authorization/Check',
    '/',
    '/__proto__',
  ])('a call of a method that does not exist: %s', async (path) => {
    expect(outcome(await client.send(CHECK_MESSAGE, path))).toBe('UNIMPLEMENTED');
  });

  test('an HTTP/2 request that is not gRPC', async () => {
    expect(await send(frame(CHECK_MESSAGE), { 'content-type': 'application/json' })).toBe(
      'http 415',
    );
  });

  test('metadata with odd bytes', async () => {
    expect(await send(frame(CHECK_MESSAGE), { 'x-headgate-secret': 'jalape\u00f1o' })).toBe(
      'grpc 0',
    );
    // No letters of an id.
    expect(gateway.output()).not.toContain('jalape');
  });

  test.each([
    ['HTTP/1.1', 'GET /envoy/a HTTP/1.1\r\nHost: a\r\n\r\n'],
    ['TLS', Buffer.from('16030100f8010000f40303', 'hex')],
    ['the preface and noise', `PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n${'\xff'.repeat(100)}`],
  ])('another protocol: %s', async (_, bytes) => {
    const answer = await exchange(`http://127.0.0.1:${gateway.grpcPort}`, bytes, 2_000);
    expect(answer).not.toContain('200');
  });

  test('five hundred silent connections', async () => {
    await using sockets = new AsyncDisposableStack();
    for (let i = 0; i < 500; i++) {
      const socket: Socket = connect(gateway.grpcPort, '127.0.0.1').on('error', () => {});
      sockets.defer(() => void socket.destroy());
      await once(socket, 'connect');
    }
    using other = connectGrpc(gateway.grpcPort);
    expect(outcome(await other.check(envoyCheckRequest()))).toBe(200);
  });

  test('watches of unknown services, of which nothing is remembered', async () => {
    const before = residentBytes(gateway.pid);
    for (let i = 0; i < 300; i++) {
      const name = Buffer.alloc(MAX_MESSAGE_BYTES - 10, `${i} `);
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

// The last part of this file, because it stops the gateway.
describe('ten thousand streams at the same time', () => {
  const SESSIONS = 50;
  const STREAMS_EACH = 200;
  const MEASURED = 'headgate_decision_duration_seconds_count';
  const stack = new AsyncDisposableStack();
  const statuses: Promise<string>[] = [];
  let grownBytes: number;
  let measuredBefore: number;
  let unfinished = 0;

  beforeAll(async () => {
    const before = residentBytes(gateway.pid);
    const sessions = await Promise.all(
      Array.from({ length: SESSIONS }, () => openSession(gateway.grpcPort)),
    );
    for (const session of sessions) stack.defer(() => session.destroy());
    // A connection without a request is closed after some seconds, and so many streams take long to open.
    const first = sessions.map((session) =>
      statusOf(openStream(session).end(frame(CHECK_MESSAGE))),
    );
    expect(new Set(await Promise.all(first))).toEqual(new Set(['grpc 0']));
    measuredBefore = await metric(gateway, MEASURED);
    for (let i = 0; i < SESSIONS * STREAMS_EACH; i++) {
      const session = sessions[i % SESSIONS] as ClientHttp2Session;
      const stream = openStream(session);
      if (i % 4 === 0) {
        stream.write(frame(CHECK_MESSAGE).subarray(0, 10));
        unfinished++;
      } else {
        stream.end(frame(CHECK_MESSAGE));
        statuses.push(statusOf(stream));
      }
    }
    await Promise.all(statuses);
    grownBytes = residentBytes(gateway.pid) - before;
  });
  afterAll(() => stack.disposeAsync());

  test('are answered if their message is complete', async () => {
    expect(new Set(await Promise.all(statuses))).toEqual(new Set(['grpc 0']));
    expect(unfinished).toBe(2_500);
    expect((await metric(gateway, MEASURED)) - measuredBefore).toBe(7_500);
  });

  test('take a bounded part of the memory', () => {
    // A stream takes some 20 KiB with all that Node keeps for it; as much again is not collected yet.
    expect(grownBytes).toBeLessThan(SESSIONS * STREAMS_EACH * 40 * 1_024);
  });

  test('leave a gateway that answers over gRPC and HTTP', async () => {
    using client = connectGrpc(gateway.grpcPort);
    expect(outcome(await client.check(envoyCheckRequest()))).toBe(200);
    const headers = { 'x-headgate-client-ip': '203.0.113.9' };
    expect((await call(gateway.url, '/envoy/a', { headers })).status).toBe(200);
  });

  test('do not keep the gateway from stopping', async () => {
    expect(await gateway.stop()).toBe(0);
  });
});
