/** `POST /settle` on the check server, over real sockets. */
import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { EXEMPT } from '../../../../src/gateway/core/counting/decision.ts';
import { HTTP_DIALECTS } from '../../../../src/gateway/dialects/index.ts';
import { createCheckServer } from '../../../../src/gateway/server/check-server.ts';
import type { ProxyServer } from '../../../../src/gateway/server/connections.ts';
import { listenLocally } from '../../../support/local-server.ts';
import { temporaryFolder } from '../../../support/temporary.ts';

const PROXY_SECRET = 'a-proxy-secret-of-25-chars';
const SETTLE_SECRET = 'a-settle-secret';
const STYLE = { reset: 'epoch', retryAfterJitterSeconds: 0, body: 'json' } as const;
const BODY_LIMIT = 65_536;

let started: AsyncDisposableStack;
let server: ProxyServer;
let bodies: string[];
let checks: number;
let unauthorized: number;
let isLeaving: boolean;
/** Until then, settlements have no answer. */
let answerable: Promise<void>;
let fails: boolean;
beforeEach(() => {
  started = new AsyncDisposableStack();
  bodies = [];
  checks = 0;
  unauthorized = 0;
  isLeaving = false;
  answerable = Promise.resolve();
  fails = false;
});
afterEach(() => started.disposeAsync());

interface Secrets {
  readonly proxy?: readonly string[];
  readonly settle?: readonly string[];
  readonly isOff?: boolean;
}

async function startServer({ proxy = [], settle = [], isOff }: Secrets, withoutAddress = '') {
  server = createCheckServer({
    dialects: HTTP_DIALECTS,
    handleCheck(pending) {
      checks++;
      pending.answer(EXEMPT, STYLE);
    },
    callerWithoutAddress: withoutAddress,
    proxySecrets: proxy,
    isLeaving: () => isLeaving,
    onConnectionFault: (error) => expect.unreachable(String(error)),
    onUnauthorized: () => void unauthorized++,
    settling: isOff
      ? undefined
      : {
          secrets: settle,
          onRefused: () => void unauthorized++,
          atEndOfTurn: setImmediate,
          async answer(body) {
            bodies.push(body);
            await answerable;
            if (fails) throw new Error('a fault');
            return { status: 200, body: '{"result":"settled"}' };
          },
        },
  });
  await server.ready();
  started.defer(() => server.close(0));
}

async function start(secrets: Secrets = {}): Promise<() => Socket> {
  await startServer(secrets);
  const { port } = started.use(
    await listenLocally(createServer((connection) => server.take(connection))),
  );
  return () => {
    const socket = connect(port, '127.0.0.1').on('error', () => {});
    started.defer(() => void socket.destroy());
    return socket;
  };
}

const JSON_TYPE = 'Content-Type: application/json';
const CLOSE = 'Connection: close';
const head = (line: string, ...headers: readonly string[]) =>
  `${line} HTTP/1.1\r\nHost: a\r\n${headers.map((each) => `${each}\r\n`).join('')}\r\n`;
const post = (body: string, ...headers: readonly string[]) =>
  head('POST /settle', JSON_TYPE, `Content-Length: ${Buffer.byteLength(body)}`, ...headers) + body;

/** All that arrives until the server closes the connection. */
async function exchange(socket: Socket, ...sent: readonly string[]): Promise<string> {
  const received = read(socket);
  for (const each of sent) socket.write(each);
  await once(socket, 'close');
  return received.text;
}

function read(socket: Socket): { text: string } {
  const received = { text: '' };
  socket.on('data', (chunk: Buffer) => {
    received.text += chunk;
  });
  return received;
}

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await nextTurn();
}

const statusesOf = (answers: string) =>
  [...answers.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => Number(status));
const messageOf = (answer: string) =>
  JSON.parse(answer.slice(answer.indexOf('\r\n\r\n'))).message as string;

describe('a body', () => {
  test('is answered with JSON', async () => {
    const open = await start();
    const answer = await exchange(open(), post('{"token":"ä"}', CLOSE));
    expect(answer).toMatch(/^HTTP\/1\.1 200 OK\r\nContent-Type: application\/json\r\n/);
    expect(answer).toMatch(/\r\n\r\n{"result":"settled"}$/);
    expect(bodies).toEqual(['{"token":"ä"}']);
  });

  test('may come in chunks, and byte by byte', async () => {
    const open = await start();
    const chunked = head('POST /settle', JSON_TYPE, 'Transfer-Encoding: chunked', CLOSE);
    const socket = open();
    socket.setNoDelay(true);
    const answer = exchange(socket, chunked, '4\r\n{"to', '\r\n5\r\n', 'ken":\r\n', '3\r\n"a"\r\n');
    for (const byte of '1\r\n}\r\n0\r\n\r\n') {
      socket.write(byte);
      await nextTurn();
    }
    expect(statusesOf(await answer)).toEqual([200]);
    expect(bodies).toEqual(['{"token":"a"}']);
  });

  test('may have 64 KiB', async () => {
    const open = await start();
    const body = 'x'.repeat(BODY_LIMIT);
    expect(statusesOf(await exchange(open(), post(body, CLOSE)))).toEqual([200]);
    expect(bodies).toEqual([body]);
  });

  test('that is missing is empty', async () => {
    const open = await start();
    expect(statusesOf(await exchange(open(), post('', CLOSE)))).toEqual([200]);
    expect(statusesOf(await exchange(open(), head('POST /settle', JSON_TYPE, CLOSE)))).toEqual([
      200,
    ]);
    expect(bodies).toEqual(['', '']);
  });

  test('is awaited by its caller with 100-continue', async () => {
    const open = await start();
    const socket = open();
    const received = read(socket);
    socket.write(
      head('POST /settle', JSON_TYPE, 'Content-Length: 2', 'Expect: 100-continue', CLOSE),
    );
    await until(() => received.text.includes('100 Continue'));
    expect(bodies).toEqual([]);
    socket.write('{}');
    await once(socket, 'close');
    expect(statusesOf(received.text)).toEqual([100, 200]);
  });

  test('whose caller goes away is never answered', async () => {
    const open = await start();
    const cut = open();
    cut.write(head('POST /settle', JSON_TYPE, 'Content-Length: 20'));
    cut.write('{"token"');
    cut.resetAndDestroy();
    expect(statusesOf(await exchange(open(), post('{}', CLOSE)))).toEqual([200]);
    expect(bodies).toEqual(['{}']);
  });

  test('whose caller goes away before the answer harms nobody', async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    answerable = promise;
    const open = await start();
    const gone = open();
    gone.write(post('{"n":1}') + post('{"n":2}'));
    await until(() => bodies.length === 2);
    gone.resetAndDestroy();
    const answer = exchange(open(), post('{"n":3}', CLOSE));
    await until(() => bodies.length === 3);
    resolve();
    expect(statusesOf(await answer)).toEqual([200]);
  });

  test('whose answer has a fault is answered with 500', async () => {
    fails = true;
    const open = await start();
    expect(statusesOf(await exchange(open(), post('{}', CLOSE)))).toEqual([500]);
  });
});

describe('a body that is too long', () => {
  const tooLong = [[413], 'Send at most 65536 bytes.'];
  const outcomeOf = (answer: string) => [statusesOf(answer), messageOf(answer)];

  test('is refused before it arrives, and the connection is closed', async () => {
    const open = await start();
    const announced = head('POST /settle', JSON_TYPE, `Content-Length: ${BODY_LIMIT + 1}`);
    const answer = await exchange(open(), announced);
    expect(outcomeOf(answer)).toEqual(tooLong);
    expect(answer).toMatch(/^Connection: close\r$/m);
  });

  test('is refused in chunks, too', async () => {
    const open = await start();
    const chunked = head('POST /settle', JSON_TYPE, 'Transfer-Encoding: chunked');
    const chunk = `4000\r\n${'x'.repeat(0x4000)}\r\n`;
    const answer = await exchange(open(), chunked, chunk, chunk, chunk, chunk, '1\r\nx\r\n');
    expect(outcomeOf(answer)).toEqual(tooLong);
    expect(bodies).toEqual([]);
  });

  test('does not lose the answer to a caller that goes on sending, and no check behind it is answered', async () => {
    const open = await start();
    const body = 'x'.repeat(20 * BODY_LIMIT);
    const answer = await exchange(open(), post(body), head('GET /nginx'));
    expect(outcomeOf(answer)).toEqual(tooLong);
    expect(bodies).toEqual([]);
  });
});

test('bodies that do not end hold 16 MiB at most, and are answered again when their callers are gone', async () => {
  const open = await start();
  const half = 'x'.repeat(BODY_LIMIT / 2);
  const unfinished: Socket[] = [];
  let refused = '';
  // Each half takes 64 KiB, because the buffer is doubled.
  for (let i = 0; i < 300 && refused === ''; i++) {
    const socket = open();
    socket.on('data', (chunk: Buffer) => {
      refused += chunk;
    });
    socket.write(head('POST /settle', JSON_TYPE, `Content-Length: ${BODY_LIMIT}`) + half);
    unfinished.push(socket);
    if (i % 16 === 0) await nextTurn();
  }
  await until(() => refused.includes('\r\n\r\n'));
  expect(statusesOf(refused)[0]).toBe(503);
  expect(refused).toContain('Too many bodies arrive at once. Send the reports again.');
  // Checks need no memory for bodies.
  expect(statusesOf(await exchange(open(), head('GET /nginx', CLOSE)))).toEqual([200]);
  for (const socket of unfinished) socket.destroy();
  let status: number | undefined;
  while (status !== 200) [status] = statusesOf(await exchange(open(), post('{}', CLOSE)));
});

describe('a connection', () => {
  test('serves checks and settlements in turn, in the order in which they were sent', async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    answerable = promise;
    const open = await start();
    const socket = open();
    const answers = exchange(
      socket,
      head('GET /nginx') + post('{"n":1}') + post('{"n":2}') + head('GET /nginx', CLOSE),
    );
    await until(() => bodies.length === 2 && checks === 2);
    resolve();
    const text = await answers;
    expect(statusesOf(text)).toEqual([200, 200, 200, 200]);
    expect(text.split('HTTP/1.1').map((each) => each.includes('settled'))).toEqual([
      ...[false, false, true, true, false],
    ]);
    expect(bodies).toEqual(['{"n":1}', '{"n":2}']);
  });

  test('stays open after a refusal', async () => {
    const open = await start({ proxy: [PROXY_SECRET] });
    const known = `X-Headgate-Secret: ${PROXY_SECRET}`;
    const answers = await exchange(
      open(),
      post('{"a":1}') + head('GET /settle') + post('{"a":2}', known, CLOSE),
    );
    expect(statusesOf(answers)).toEqual([403, 405, 200]);
    expect(bodies).toEqual(['{"a":2}']);
  });

  test('is closed with its answer while the gateway stops', async () => {
    isLeaving = true;
    const open = await start();
    expect(await exchange(open(), post('{}'))).toMatch(/^Connection: close\r$/m);
  });
});

describe('is refused', () => {
  test.each(['GET', 'HEAD', 'PUT', 'DELETE', 'OPTIONS', 'PATCH'])(
    'the method %s',
    async (method) => {
      const open = await start();
      const answer = await exchange(open(), head(`${method} /settle`, CLOSE));
      expect(statusesOf(answer)).toEqual([405]);
      expect(answer).toMatch(/^Allow: POST\r$/m);
    },
  );

  test.each([
    ...[
      'text/plain',
      'application/x-www-form-urlencoded',
      'application/jsonp',
      'application/json5',
    ],
    ...['multipart/form-data', 'text/json', 'application/json-patch+json', 'x application/json'],
  ])('the type %s, which a form of a web page can send', async (type) => {
    const open = await start();
    const body = ['Content-Length: 2', CLOSE];
    const answer = await exchange(
      open(),
      `${head('POST /settle', `Content-Type: ${type}`, ...body)}{}`,
    );
    expect(statusesOf(answer)).toEqual([415]);
    expect(bodies).toEqual([]);
  });

  test('a body without a type, or one that is compressed', async () => {
    const open = await start();
    const untyped = `${head('POST /settle', 'Content-Length: 2', CLOSE)}{}`;
    expect(statusesOf(await exchange(open(), untyped))).toEqual([415]);
    expect(statusesOf(await exchange(open(), post('{}', 'Content-Encoding: gzip', CLOSE)))).toEqual(
      [415],
    );
    expect(bodies).toEqual([]);
  });

  test.each(['application/json', 'APPLICATION/JSON', 'application/json; charset=utf-8'])(
    'nothing with the type %s',
    async (type) => {
      const open = await start();
      const headers = [`Content-Type: ${type}`, 'Content-Length: 2', CLOSE];
      expect(statusesOf(await exchange(open(), `${head('POST /settle', ...headers)}{}`))).toEqual([
        200,
      ]);
    },
  );

  test.each([
    'Origin: http://127.0.0.1',
    'Origin: null',
    'Sec-Fetch-Site: cross-site',
    'Sec-Fetch-Site: same-site',
  ])('a web page, with every secret, too: %s', async (header) => {
    const open = await start({ proxy: [PROXY_SECRET] });
    const known = `X-Headgate-Secret: ${PROXY_SECRET}`;
    const answer = await exchange(open(), post('{}', known, header, CLOSE));
    expect([statusesOf(answer), messageOf(answer)]).toEqual([[403], 'Web pages may not settle.']);
    expect([bodies, unauthorized]).toEqual([[], 0]);
  });

  test('a request with two hosts, before it is read', async () => {
    const open = await start();
    expect(statusesOf(await exchange(open(), post('{}', 'Host: b')))).toEqual([400]);
    expect(bodies).toEqual([]);
  });

  test.each(['/settle/', '/settle?a', '/Settle', '/settle%20', '//settle', '/settled'])(
    'nothing is at %s',
    async (path) => {
      const open = await start();
      const answer = await exchange(open(), head(`POST ${path}`, JSON_TYPE, CLOSE));
      expect(statusesOf(answer)).toEqual([404]);
    },
  );

  test('nothing is there without settlements', async () => {
    const open = await start({ isOff: true });
    expect(statusesOf(await exchange(open(), post('{}', CLOSE)))).toEqual([404]);
  });
});

describe('the secrets', () => {
  const proxy = `X-Headgate-Secret: ${PROXY_SECRET}`;
  const settle = `X-Headgate-Settle-Secret: ${SETTLE_SECRET}`;
  const both = { proxy: [PROXY_SECRET], settle: ['another-settle-secret', SETTLE_SECRET] };

  test.each<[string, Secrets, string[], number]>([
    ['that of proxies can settle', both, [proxy], 200],
    ['that of settlements can settle', both, [settle], 200],
    ['without one, nobody can', both, [], 403],
    ['a wrong one does not', both, [`${settle}x`], 403],
    ['in the header of the other, it does not', both, [`X-Headgate-Secret: ${SETTLE_SECRET}`], 403],
    ['nor the other way round', both, [`X-Headgate-Settle-Secret: ${PROXY_SECRET}`], 403],
    ['an empty one does not', both, ['X-Headgate-Settle-Secret:'], 403],
    ['twice, it does not', both, [settle, settle], 403],
    ['only proxies have one: without it, this machine cannot', { proxy: [PROXY_SECRET] }, [], 403],
    ['only proxies have one: another header is none', { proxy: [PROXY_SECRET] }, [settle], 403],
    [
      'only settlements have one: without it, this machine cannot',
      { settle: [SETTLE_SECRET] },
      [],
      403,
    ],
    ['only settlements have one: with it', { settle: [SETTLE_SECRET] }, [settle], 200],
    ['without any, this machine can', {}, [], 200],
  ])('%s', async (_, secrets, headers, status) => {
    const open = await start(secrets);
    const answer = await exchange(open(), post('{}', ...headers, CLOSE));
    expect(statusesOf(answer)).toEqual([status]);
    expect([bodies.length, unauthorized]).toEqual(status === 200 ? [1, 0] : [0, 1]);
  });

  test('that of settlements lets no check through', async () => {
    const open = await start(both);
    expect(statusesOf(await exchange(open(), head('GET /nginx', settle, CLOSE)))).toEqual([403]);
    expect(statusesOf(await exchange(open(), head('GET /nginx', proxy, CLOSE)))).toEqual([200]);
    expect(checks).toBe(1);
  });

  test.each<[string, string, number]>([
    ['over a unix socket, without any, callers can settle', '127.0.0.1', 200],
    ['without any, a caller with another address cannot', '203.0.113.9', 403],
    ['without any, a caller whose address is unknown cannot', '', 403],
  ])('%s', async (_, address, status) => {
    await startServer({}, address);
    const path = join(temporaryFolder(started), 'socket');
    const listener = createServer((connection) => server.take(connection)).listen(path);
    started.defer(() => void listener.close());
    await once(listener, 'listening');
    const socket = connect(path);
    const answer = await exchange(socket, post('{}', CLOSE));
    expect(statusesOf(answer)).toEqual([status]);
    if (status === 403) expect(messageOf(answer)).toContain('HEADGATE_SETTLE_SECRET');
  });
});
