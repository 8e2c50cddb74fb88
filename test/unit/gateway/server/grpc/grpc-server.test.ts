/** The gRPC server in this process: who is answered, by which method, and with which status. */
import { once } from 'node:events';
import type { ClientHttp2Session, ClientHttp2Stream } from 'node:http2';
import { createServer } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { BLOCKED, EXEMPT } from '../../../../../src/gateway/core/counting/decision.ts';
import { MalformedMessage } from '../../../../../src/gateway/protobuf/reader.ts';
import { createGrpcServer } from '../../../../../src/gateway/server/grpc/grpc-server.ts';
import type { PendingCheck } from '../../../../../src/gateway/server/handler.ts';
import { CHECK, frame, openSession, openStream } from '../../../../support/grpc-frames.ts';
import { listenLocally } from '../../../../support/local-server.ts';
import { checkRequest } from '../../../../support/requests.ts';

const STYLE = { reset: 'epoch', retryAfterJitterSeconds: 0, body: 'json' } as const;
const SECRET = 'a secret of sixteen';
const COUNT = '/counts.Counter/Count';
const HEALTH = '/grpc.health.v1.Health';
const NO_MESSAGE = Buffer.alloc(0);

let started: AsyncDisposableStack;
let events: string[];
let handleCheck: (pending: PendingCheck) => void;
let server: ReturnType<typeof createGrpcServer<string>>;

beforeEach(() => {
  started = new AsyncDisposableStack();
  events = [];
  handleCheck = (pending) => pending.answer(EXEMPT, STYLE);
});
afterEach(() => started.disposeAsync());

async function start(proxySecrets: readonly string[] = []): Promise<ClientHttp2Session> {
  server = createGrpcServer<string>({
    proxySecrets,
    tls: undefined,
    handleCheck: (pending) => handleCheck(pending),
    onUnauthorized: () => events.push('unauthorized'),
    onConnectionFault: (error) => events.push(`fault ${error}`),
    dialect: {
      name: 'told',
      unauthorized: 'no secret',
      parse(message, address, { told }) {
        const text = message.toString();
        if (text === 'malformed') throw new MalformedMessage();
        if (text === 'fault') throw new Error('fault');
        events.push(`parsed ${text} from ${address}, told ${told}`);
        return text === 'tcp' ? undefined : checkRequest({ target: `/${text}` });
      },
      render: ({ reason }, { body }) => `${reason} in ${body}`,
      write: (answer) => `written: ${answer}`,
    },
    streamServices: [],
    services: [
      {
        name: 'counts.Counter',
        method: 'Count',
        healthNames: ['counter'],
        handle(call, message, { told }) {
          events.push(`counted ${message}, told ${told}`);
          call.answer(`counted ${message}`);
        },
      },
    ],
  });
  const listener = started.use(
    await listenLocally(createServer((connection) => server.take(connection))),
  );
  const session = await openSession(listener.port);
  started.defer(() => session.destroy());
  return session;
}

type Parts = Record<string, string>;

function opened(session: ClientHttp2Session, path: string, message: Uint8Array, headers = {}) {
  const stream = openStream(session, { ':path': path, ...headers });
  stream.end(frame(message));
  return stream;
}

/** `messages` has their bytes, without frames. */
async function outcomeOf(stream: ClientHttp2Stream) {
  let head: Parts = {};
  let trailers: Parts = {};
  const chunks: Buffer[] = [];
  stream.on('response', (found) => {
    head = found as unknown as Parts;
  });
  stream.on('trailers', (found) => {
    trailers = found as unknown as Parts;
  });
  stream.on('data', (chunk: Buffer) => chunks.push(chunk));
  await once(stream, 'close');
  const { ':status': http, 'content-type': type } = head;
  const { 'grpc-status': code, 'grpc-message': details } = { ...head, ...trailers };
  return { http, type, code, details, messages: messagesIn(Buffer.concat(chunks)) };
}

function messagesIn(bytes: Buffer): string[] {
  if (bytes.length === 0) return [];
  const end = 5 + bytes.readUInt32BE(1);
  return [bytes.toString('latin1', 5, end), ...messagesIn(bytes.subarray(end))];
}

const sent = async (session: ClientHttp2Session, path: string, text: string, headers = {}) =>
  outcomeOf(opened(session, path, Buffer.from(text), headers));
const answered = (message: string) => ({
  ...{ http: 200, type: 'application/grpc', code: '0', details: undefined },
  messages: [message],
});
const failed = (code: number, details: string) => ({
  ...{ http: 200, type: 'application/grpc', code: String(code), details },
  messages: [],
});

describe('a check', () => {
  test('is parsed with its address and metadata, and answered by the dialect', async () => {
    const seen: unknown[] = [];
    handleCheck = (pending) => {
      seen.push(pending.dialect, pending.isGone(), pending.parse().target);
      pending.answer(BLOCKED, STYLE);
    };
    const session = await start();
    expect(await sent(session, CHECK, 'a', { told: 'x' })).toEqual(
      answered('written: blocked in json'),
    );
    expect(seen).toEqual(['told', false, '/a']);
    expect(events).toEqual(['parsed a from 127.0.0.1, told x']);
  });

  test('that is not about HTTP, is malformed, or meets a fault, is never handled', async () => {
    handleCheck = () => events.push('handled');
    const session = await start();
    const outcomes = [];
    for (const text of ['tcp', 'malformed', 'fault'])
      outcomes.push(await sent(session, CHECK, text));
    expect(outcomes).toEqual([
      failed(3, 'The check is not about an HTTP request.'),
      failed(13, 'The message is malformed.'),
      failed(13, 'The gateway failed.'),
    ]);
    expect(events).toEqual(['parsed tcp from 127.0.0.1, told undefined']);
  });

  test('that cannot be decided is answered with a fault', async () => {
    handleCheck = (pending) => pending.fail();
    expect(await sent(await start(), CHECK, 'a')).toEqual(failed(13, 'The gateway failed.'));
  });

  test('whose caller is gone is not rendered', async () => {
    const { promise: handed, resolve } = Promise.withResolvers<PendingCheck>();
    handleCheck = resolve;
    const session = await start();
    const stream = opened(session, CHECK, Buffer.from('a'));
    const pending = await handed;
    expect(pending.isGone()).toBe(false);
    stream.destroy();
    while (!pending.isGone()) await nextTurn();
    const unread = {
      ...STYLE,
      get body(): 'json' {
        throw new Error('it was rendered');
      },
    };
    expect(() => pending.answer(EXEMPT, unread)).not.toThrow();
    expect(() => pending.fail()).not.toThrow();
  });
});

describe('a call of another service', () => {
  test('gets its message and metadata, and answers', async () => {
    const session = await start();
    expect(await sent(session, COUNT, 'a', { told: 'y' })).toEqual(answered('counted a'));
    expect(events).toEqual(['counted a, told y']);
  });

  test.each([
    ...['/counts.Counter/count', '/counts.Counter', '/counter/Count', '/counts.Counter/Count/'],
    ...[CHECK.toLowerCase(), `${HEALTH}/check`, '/'],
  ])('%s is unknown', async (path) => {
    expect(await sent(await start(), path, 'a')).toEqual(failed(12, 'The method is unknown.'));
    expect(events).toEqual([]);
  });
});

describe('the secret', () => {
  test.each([
    ['none', {}],
    ['a wrong one', { 'x-headgate-secret': `${SECRET}x` }],
  ])('%s: nothing is parsed or handled, and each refusal is reported', async (_, headers) => {
    handleCheck = () => events.push('handled');
    const session = await start([SECRET]);
    expect(await sent(session, CHECK, 'a', headers)).toEqual(answered('written: no secret'));
    expect(await sent(session, COUNT, 'a', headers)).toEqual(
      failed(7, 'The proxy secret is missing or wrong.'),
    );
    expect(events).toEqual(['unauthorized', 'unauthorized']);
  });

  test('lets its callers in', async () => {
    const session = await start(['another secret', SECRET]);
    const headers = { 'x-headgate-secret': SECRET };
    expect((await sent(session, CHECK, 'a', headers)).messages).toEqual([
      'written: exempt in json',
    ]);
    expect((await sent(session, COUNT, 'a', headers)).messages).toEqual(['counted a']);
    expect(events).not.toContain('unauthorized');
  });

  test('is not needed for health', async () => {
    const session = await start([SECRET]);
    expect(await sent(session, `${HEALTH}/Check`, '')).toEqual(answered('\b\u0001'));
    expect(events).toEqual([]);
  });
});

describe('the content type', () => {
  test.each(['application/grpc', 'application/grpc+proto', 'application/grpc;charset=utf-8'])(
    '%s is answered',
    async (type) => {
      const session = await start();
      expect((await sent(session, COUNT, 'a', { 'content-type': type })).code).toBe('0');
    },
  );

  test.each([
    'application/grpc-web',
    'application/grpcs',
    'application/json',
    'x-application/grpc',
  ])('%s is refused', async (type) => {
    const session = await start();
    const { http, code, messages } = await sent(session, COUNT, 'a', { 'content-type': type });
    expect([http, code, messages, events]).toEqual([415, undefined, [], []]);
  });
});

/** `HealthCheckRequest`: field 1 is the service. */
const about = (service: string) =>
  service === ''
    ? NO_MESSAGE
    : Buffer.concat([Buffer.from([10, service.length]), Buffer.from(service)]);
/** `HealthCheckResponse`: field 1 is 1 for serving, 2 for not serving, 3 for an unknown service. */
const status = (code: number) => `\b${String.fromCharCode(code)}`;
const KNOWN = ['', 'envoy.service.auth.v3.Authorization', 'counts.Counter', 'counter'];
const UNKNOWN = ['Counter', 'counts.Counter/Count', 'grpc.health.v1.Health'];

describe('health', () => {
  const checked = (session: ClientHttp2Session, service: string) =>
    outcomeOf(opened(session, `${HEALTH}/Check`, about(service)));
  const listed = (code: number) =>
    KNOWN.map((name) => {
      const entry = `\n${String.fromCharCode(name.length)}${name}\u0012\u0002${status(code)}`;
      return `\n${String.fromCharCode(entry.length)}${entry}`;
    }).join('');

  test('of every service is serving until the gateway stops', async () => {
    const session = await start();
    for (const name of KNOWN)
      expect(await checked(session, name), name).toEqual(answered(status(1)));
    server.drain();
    for (const name of KNOWN)
      expect(await checked(session, name), name).toEqual(answered(status(2)));
    // Requests are still answered.
    expect((await sent(session, COUNT, 'a')).messages).toEqual(['counted a']);
  });

  test.each(UNKNOWN)('of %s is not known', async (name) => {
    const session = await start();
    expect(await checked(session, name)).toEqual(failed(5, 'The service is unknown.'));
  });

  test('is listed by service', async () => {
    const session = await start();
    expect(await sent(session, `${HEALTH}/List`, '')).toEqual(answered(listed(1)));
    server.drain();
    expect(await sent(session, `${HEALTH}/List`, '')).toEqual(answered(listed(2)));
  });

  test.each(['Check', 'Watch'])('%s refuses a malformed message', async (method) => {
    const session = await start();
    expect(await sent(session, `${HEALTH}/${method}`, '\n\u0009a')).toEqual(
      failed(13, 'The message is malformed.'),
    );
  });

  const watched = async (session: ClientHttp2Session, service: string) => {
    const stream = opened(session, `${HEALTH}/Watch`, about(service));
    const outcome = outcomeOf(stream);
    await once(stream, 'data');
    return { stream, outcome };
  };

  test('that is watched is told at once, when it changes, and at the end', async () => {
    const session = await start();
    const known = await watched(session, 'counter');
    const other = await watched(session, '');
    server.drain();
    const closed = server.close(60_000);
    for (const { outcome } of [known, other]) {
      expect(await outcome).toEqual({
        ...failed(14, 'The gateway is stopping.'),
        messages: [status(1), status(2)],
      });
    }
    await closed;
  });

  test('that is watched from now on is told that the gateway stops', async () => {
    const session = await start();
    server.drain();
    const { outcome } = await watched(session, '');
    const closed = server.close(60_000);
    expect((await outcome).messages).toEqual([status(2)]);
    await closed;
  });

  test('of an unknown service is told once, and the watch is not kept', async () => {
    const session = await start();
    const { stream, outcome } = await watched(session, 'Counter');
    server.drain();
    // What follows on the connection comes after all that was written before.
    await sent(session, `${HEALTH}/List`, '');
    stream.destroy();
    expect((await outcome).messages).toEqual([status(3)]);
  });

  test('whose watcher is gone does not trouble the others', async () => {
    const session = await start();
    const gone = await watched(session, '');
    const kept = await watched(session, '');
    gone.stream.destroy();
    await gone.outcome;
    await sent(session, `${HEALTH}/List`, '');
    server.drain();
    const closed = server.close(60_000);
    expect((await kept.outcome).messages).toEqual([status(1), status(2)]);
    await closed;
    expect(events).toEqual([]);
  });
});
