/** The check server in this process, behind a real socket. */
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { EXEMPT } from '../../../../src/gateway/core/counting/decision.ts';
import { HTTP_DIALECTS } from '../../../../src/gateway/dialects/index.ts';
import { createCheckServer, isMountedAt } from '../../../../src/gateway/server/check-server.ts';
import type { ProxyServer } from '../../../../src/gateway/server/connections.ts';
import type { PendingCheck } from '../../../../src/gateway/server/handler.ts';

const SECRET = 'a secret of sixteen';
const STYLE = { reset: 'epoch', retryAfterJitterSeconds: 0, body: 'json' } as const;
const ALLOW = (pending: PendingCheck) => pending.answer(EXEMPT, STYLE);

let server: ProxyServer;
let listener: Server;
let handle: (pending: PendingCheck) => void;
let isLeaving: boolean;
let unauthorized: number;

async function start(proxySecrets: readonly string[] = []): Promise<void> {
  server = createCheckServer({
    dialects: HTTP_DIALECTS,
    handleCheck: (pending) => handle(pending),
    callerWithoutAddress: '127.0.0.1',
    proxySecrets,
    isLeaving: () => isLeaving,
    settling: undefined,
    onConnectionFault: () => {},
    onUnauthorized: () => {
      unauthorized += 1;
    },
  });
  await server.ready();
  listener = createServer((connection) => server.take(connection)).listen(0, '127.0.0.1');
  await once(listener, 'listening');
}

beforeEach(() => {
  handle = ALLOW;
  isLeaving = false;
  unauthorized = 0;
});
afterEach(async () => {
  listener.close();
  await server.close(0);
});

/** Sends lines, and the answer is all that arrives until the server closes the connection. */
async function send(...lines: readonly string[]): Promise<string> {
  const connection = connect((listener.address() as AddressInfo).port, '127.0.0.1');
  connection.write(`${lines.join('\r\n')}\r\n\r\n`);
  return text(connection);
}

const CLOSE = 'Connection: close';
const statusOf = (answer: string) => Number(/^HTTP\/1\.1 (\d+)/.exec(answer)?.[1]);
const bodyOf = (answer: string) => JSON.parse(answer.slice(answer.indexOf('\r\n\r\n')));

describe('a check', () => {
  test('is parsed by the dialect of its path', async () => {
    await start();
    const dialects: string[] = [];
    handle = (pending) => {
      dialects.push(`${pending.dialect} ${pending.parse().addresses.proxy}`);
      ALLOW(pending);
    };
    for (const { mount } of HTTP_DIALECTS) {
      const answer = await send(`GET ${mount}?a HTTP/1.1`, 'Host: a', CLOSE);
      expect(answer).toMatch(/^HTTP\/1\.1 200 OK\r\n(.+\r\n)*Content-Length: 0\r\n(.+\r\n)*\r\n$/);
    }
    expect(dialects).toEqual(HTTP_DIALECTS.map(({ name }) => `${name} 127.0.0.1`));
  });

  test('shows that a header was sent twice', async () => {
    await start();
    const seen: unknown[] = [];
    handle = (pending) => {
      seen.push(pending.parse().headers.authorization);
      ALLOW(pending);
    };
    await send('GET /envoy/a HTTP/1.1', 'Host: a', 'Authorization: a', 'Authorization: b', CLOSE);
    expect(seen).toEqual(['a, b']);
  });

  test('that fails gets a 500, for which the proxy has its own failure mode', async () => {
    await start();
    handle = (pending) => pending.fail();
    const answer = await send('GET /nginx HTTP/1.1', 'Host: a', CLOSE);
    expect(statusOf(answer)).toBe(500);
    expect(bodyOf(answer).error).toBe('internal_error');
  });

  test('that fails after its answer gets no second one', async () => {
    await start();
    const errors: unknown[] = [];
    handle = (pending) => {
      ALLOW(pending);
      try {
        pending.fail();
      } catch (error) {
        errors.push(error);
      }
    };
    const answer = await send('GET /nginx HTTP/1.1', 'Host: a', CLOSE);
    expect(answer.match(/HTTP\/1\.1/g)).toHaveLength(1);
    expect(errors).toEqual([]);
  });

  test.each([
    ['ended its side of the connection', (connection: Socket) => void connection.end()],
    ['broke the connection', (connection: Socket) => void connection.resetAndDestroy()],
  ])('is gone once its proxy has %s', async (_, leave) => {
    await start();
    const arrived = Promise.withResolvers<PendingCheck>();
    handle = arrived.resolve;
    const accepted = once(listener, 'connection');
    const proxy = connect((listener.address() as AddressInfo).port, '127.0.0.1');
    proxy.write('GET /nginx HTTP/1.1\r\nHost: a\r\n\r\n');
    const [connection] = (await accepted) as [Socket];
    const pending = await arrived.promise;
    expect(pending.isGone()).toBe(false);
    const left = new Promise((resolve) => connection.once('end', resolve).once('close', resolve));
    leave(proxy);
    await left;
    expect(pending.isGone()).toBe(true);
    proxy.destroy();
  });

  test('closes its connection while the gateway stops', async () => {
    await start();
    isLeaving = true;
    // Otherwise the connection would stay open, and there would be no end to read.
    const answer = await send('GET /nginx HTTP/1.1', 'Host: a');
    expect(statusOf(answer)).toBe(200);
    expect(answer).toMatch(/^Connection: close\r$/im);
  });
});

describe('a request with a protocol mistake', () => {
  test.each(HTTP_DIALECTS)('gets the status that $name passes on', async (dialect) => {
    await start();
    handle = () => expect.unreachable();
    const answer = await send(`GET ${dialect.mount} HTTP/1.1`, 'Host: a/b');
    expect(statusOf(answer)).toBe(dialect.badRequest);
    expect(answer).toMatch(/^Connection: close\r$/im);
    expect(bodyOf(answer).error).toBe('bad_request');
  });

  test('gets a 400 at an unknown path', async () => {
    await start();
    expect(statusOf(await send('GET /a HTTP/1.1', 'Host: a/b'))).toBe(400);
  });

  test('gets a 431 for too many headers', async () => {
    await start();
    const lines = Array.from({ length: 256 }, () => 'A: 1');
    const answer = await send('GET /nginx HTTP/1.1', 'Host: a', ...lines);
    expect(statusOf(answer)).toBe(431);
    expect(answer).toMatch(/^Connection: close\r$/im);
  });
});

describe('a caller without the proxy secret', () => {
  test.each(['GET /nginx', 'HEAD /nginx', 'POST /envoy/a', 'GET /nowhere', 'HEAD /nowhere'])(
    'is refused: %s',
    async (line) => {
      await start([SECRET]);
      handle = () => expect.unreachable();
      const answer = await send(`${line} HTTP/1.1`, 'Host: a', 'X-Headgate-Secret: wrong', CLOSE);
      expect(statusOf(answer)).toBe(403);
      expect(unauthorized).toBe(1);
    },
  );

  test('is one that lacks it: with it, checks are answered', async () => {
    await start([SECRET]);
    const secret = `X-Headgate-Secret: ${SECRET}`;
    expect(statusOf(await send('HEAD /nginx HTTP/1.1', 'Host: a', secret, CLOSE))).toBe(200);
    expect(statusOf(await send('GET /nowhere HTTP/1.1', 'Host: a', secret, CLOSE))).toBe(404);
    expect(unauthorized).toBe(0);
  });
});

test('another path gets a 404 that lists the paths of the proxies', async () => {
  await start();
  const answer = await send('GET /metrics HTTP/1.1', 'Host: a', CLOSE);
  expect(statusOf(answer)).toBe(404);
  for (const { mount } of HTTP_DIALECTS) expect(bodyOf(answer).message).toContain(mount);
});

test('CONNECT is refused with an answer', async () => {
  await start();
  expect(statusOf(await send('CONNECT a:443 HTTP/1.1', 'Host: a:443'))).toBe(405);
});

test.each([
  ['/envoy', true],
  ['/envoy/x', true],
  ['/envoy?x', true],
  ['/envoy*', true],
  ['/envoys', false],
  ['/envoy-x', false],
  ['/envoy_x', false],
  ['/', false],
])('%s is below the mount /envoy: %s', (target, expected) => {
  expect(isMountedAt('/envoy', target)).toBe(expected);
});
