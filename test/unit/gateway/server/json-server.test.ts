/** The rate limit service as JSON: who is answered, and with what. */
import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { ProxyServer } from '../../../../src/gateway/server/connections.ts';
import { createJsonServer } from '../../../../src/gateway/server/json-server.ts';
import { listenLocally } from '../../../support/local-server.ts';

const SECRET = 'a secret of sixteen';

let started: AsyncDisposableStack;
let server: ProxyServer;
let calls: unknown[];
let unauthorized: number;
let isHealthy: boolean;
/** Until then, calls have no answer. */
let answerable: Promise<void>;
beforeEach(() => {
  started = new AsyncDisposableStack();
  calls = [];
  unauthorized = 0;
  isHealthy = true;
  answerable = Promise.resolve();
});
afterEach(() => started.disposeAsync());

async function start(proxySecrets: readonly string[] = []) {
  server = createJsonServer({
    proxySecrets,
    async answer(written, { told }) {
      calls.push([written, told]);
      await answerable;
      return { status: 429, body: '{"answered":true}' };
    },
    isHealthy: () => isHealthy,
    onUnauthorized: () => {
      unauthorized++;
    },
    onConnectionFault: (error) => calls.push(error),
  });
  await server.ready();
  const { port } = started.use(
    await listenLocally(createServer((connection) => server.take(connection))),
  );
  started.defer(() => server.close(0));
  const open = async () => {
    const socket = connect(port, '127.0.0.1');
    started.defer(() => void socket.destroy());
    await once(socket, 'connect');
    return socket;
  };
  const send = async (path: string, init: RequestInit = {}) => {
    const headers = { connection: 'close', ...(init.headers as object) };
    const answer = await fetch(`http://127.0.0.1:${port}${path}`, { ...init, headers });
    return { answer, status: answer.status, body: await answer.text() };
  };
  return Object.assign(send, { open });
}

const post = (body: string, headers = {}) => ({ method: 'POST', body, headers });

describe('a call', () => {
  test.each(['application/json', 'text/plain', 'application/x-www-form-urlencoded'])(
    'is answered whatever its content type: %s',
    async (type) => {
      const send = await start();
      const { answer, status, body } = await send(
        '/json',
        post('{"domain":"ä"}', { 'content-type': type, told: 'x' }),
      );
      expect([status, body]).toEqual([429, '{"answered":true}']);
      expect(answer.headers.get('content-type')).toBe('application/json; charset=utf-8');
      expect(calls).toEqual([['{"domain":"ä"}', 'x']]);
    },
  );

  test('without a body is answered, as an empty text', async () => {
    const send = await start();
    expect((await send('/json', { method: 'POST' })).status).toBe(429);
    expect(calls).toEqual([['', undefined]]);
  });

  test('may have 64 KiB, and not a byte more', async () => {
    const send = await start();
    expect((await send('/json', post('a'.repeat(65_536)))).status).toBe(429);
    expect((await send('/json', post('a'.repeat(65_537)))).status).toBe(413);
    expect(calls).toHaveLength(1);
  });

  test.each(['/', '/json/', '/JSON', '/healthcheck/'])('to %s is not there', async (path) => {
    const send = await start();
    expect((await send(path, post('a'))).status).toBe(404);
    expect(calls).toEqual([]);
  });

  test('of a web page is refused, with the secret too, and is no stranger', async () => {
    const send = await start([SECRET]);
    const headers = { 'x-headgate-secret': SECRET, origin: 'http://evil.example' };
    const { status, body } = await send('/json', post('a', headers));
    expect([status, body]).toEqual([403, '{"error":"Web pages may not send calls."}']);
    expect([calls, unauthorized]).toEqual([[], 0]);
  });

  test('without the secret is refused and reported; with it, it is answered', async () => {
    const send = await start([SECRET]);
    const refused = [403, '{"error":"The proxy secret is missing or wrong."}'];
    for (const headers of [{}, { 'x-headgate-secret': 'wrong' }]) {
      const { status, body } = await send('/json', post('a', headers));
      expect([status, body]).toEqual(refused);
    }
    expect([calls, unauthorized]).toEqual([[], 2]);
    expect((await send('/json', post('a', { 'x-headgate-secret': SECRET }))).status).toBe(429);
    expect([calls.length, unauthorized]).toEqual([1, 2]);
  });
});

test('health needs no secret, and follows the gateway', async () => {
  const send = await start([SECRET]);
  const health = async () => {
    const { status, body } = await send('/healthcheck');
    return [status, body];
  };
  expect(await health()).toEqual([200, 'OK']);
  isHealthy = false;
  expect(await health()).toEqual([500, 'not healthy']);
  expect(unauthorized).toBe(0);
});

test('the end closes idle connections at once, and waits for the call that has begun', async () => {
  const { promise, resolve } = Promise.withResolvers<void>();
  answerable = promise;
  const { open } = await start();
  const idle = await open();
  idle.write('GET /healthcheck HTTP/1.1\r\nHost: a\r\n\r\n');
  await once(idle, 'data');
  const busy = await open();
  const ended = (socket: Socket) => once(socket.resume(), 'close');
  let answer = '';
  busy.on('data', (chunk: Buffer) => {
    answer += chunk;
  });
  busy.write('POST /json HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: 1\r\n\r\na');
  while (calls.length === 0) await nextTurn();
  const idleEnded = ended(idle);
  const busyEnded = ended(busy);
  let hasClosed = false;
  const closed = server.close(60_000).then(() => {
    hasClosed = true;
  });
  await idleEnded;
  expect([hasClosed, answer]).toEqual([false, '']);
  resolve();
  await Promise.all([busyEnded, closed]);
  expect(answer).toMatch(/^HTTP\/1\.1 429 .*{"answered":true}$/s);
});
