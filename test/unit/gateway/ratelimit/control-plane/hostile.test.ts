/** Control planes that answer nonsense: the gateway leaves them, comes back, and takes what it then gets. */
import { once } from 'node:events';
import { createServer as createHttp } from 'node:http';
import { createServer, type Http2Server, type ServerHttp2Stream } from 'node:http2';
import { type AddressInfo, createServer as createTcp, type Server, type Socket } from 'node:net';
import { gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { RESPONSE_WITH_LIMITS, responseBytes } from '../../../../support/control-plane.ts';
import { frame } from '../../../../support/grpc-frames.ts';
import { frame as http2Frame } from '../../../../support/http2-frames.ts';
import { startSubscriber } from '../../../../support/subscriber.ts';

const MESSAGE = responseBytes(RESPONSE_WITH_LIMITS);
const GRPC = { ':status': 200, 'content-type': 'application/grpc' };
const MAX_BYTES = 1_000;

interface Running extends AsyncDisposable {
  readonly port: number;
}

async function listening(server: Server | Http2Server): Promise<Running> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    [Symbol.asyncDispose]: async () => void server.close(),
  };
}

type Answer = (stream: ServerHttp2Stream, connection: Socket) => void;

/** Answers the first stream as given, and later ones with limits. */
function firstAnswered(answer: Answer): Promise<Running> {
  let streams = 0;
  let connection: Socket;
  const server = createServer();
  server.on('connection', (socket) => {
    connection = socket;
  });
  server.on('stream', (stream) => {
    stream.on('error', () => {});
    if (streams++ === 0) return answer(stream, connection);
    stream.respond(GRPC);
    stream.write(frame(MESSAGE));
  });
  return listening(server);
}

const bytes = (sent: Uint8Array) => (stream: ServerHttp2Stream) => {
  stream.respond(GRPC);
  stream.write(sent);
};
const response = (changes: object) =>
  bytes(frame(responseBytes({ ...RESPONSE_WITH_LIMITS, ...changes })));

const ENDED = 'it ended the stream';
const ANSWERS: readonly [string, string, Answer][] = [
  [
    'a page',
    'it does not speak gRPC: it answers with the content type "text/html"',
    (stream) => {
      stream.respond({ ':status': 200, 'content-type': 'text/html' });
      stream.end('<html></html>');
    },
  ],
  [
    'another HTTP status',
    'it answers with the HTTP status 502',
    (stream) => stream.respond({ ':status': 502 }, { endStream: true }),
  ],
  [
    'a status of gRPC in place of an answer',
    `${ENDED} with the gRPC status 12: unknown service é`,
    (stream) => {
      const status = { 'grpc-status': '12', 'grpc-message': 'unknown service %C3%A9' };
      stream.respond({ ...GRPC, ...status }, { endStream: true });
    },
  ],
  [
    'a status with control characters, of any length',
    `${ENDED} with the gRPC status 2: \\u{1b}[2J%${'x'.repeat(246)}…`,
    (stream) => {
      const status = { 'grpc-status': '2', 'grpc-message': `%1b[2J%25${'x'.repeat(5_000)}` };
      stream.respond({ ...GRPC, ...status }, { endStream: true });
    },
  ],
  [
    'trailers',
    `${ENDED} with the gRPC status 8: 100%`,
    (stream) => {
      stream.respond(GRPC, { waitForTrailers: true });
      stream.on('wantTrailers', () => {
        stream.sendTrailers({ 'grpc-status': '8', 'grpc-message': '100%' });
      });
      stream.end();
    },
  ],
  [
    'the end of the stream without trailers',
    `${ENDED} without a status`,
    (stream) => {
      stream.respond(GRPC);
      stream.end();
    },
  ],
  [
    'a reset',
    'Stream closed with error code NGHTTP2_ENHANCE_YOUR_CALM',
    (stream) => stream.close(11),
  ],
  [
    'the end of the connection',
    'it closes the connection (GOAWAY, code 0)',
    (stream) => stream.session?.goaway(0),
  ],
  ['a broken connection', 'read ECONNRESET', (_, connection) => connection.resetAndDestroy()],
  [
    'a compressed message',
    'a message is compressed',
    bytes(frame(gzipSync(MESSAGE), { compressed: 1 })),
  ],
  [
    'a message that is too long',
    `a message has 4294967295 bytes, the maximum is ${MAX_BYTES}`,
    bytes(frame(MESSAGE, { length: 0xffffffff })),
  ],
  [
    'a truncated message',
    'it sent a malformed response: a field is longer than the message',
    bytes(frame(MESSAGE.subarray(0, -1))),
  ],
  ['an empty message', 'it sent resources of the type ""', bytes(frame(Buffer.alloc(0)))],
  [
    'resources of another type',
    'it sent resources of the type "type.googleapis.com/envoy.config.cluster.v3.Cluster"',
    response({ type_url: 'type.googleapis.com/envoy.config.cluster.v3.Cluster' }),
  ],
];

describe('connects again after', () => {
  test.each(ANSWERS)('%s', async (_, reason, answer) => {
    await using server = await firstAnswered(answer);
    const timing = { maxMessageBytes: MAX_BYTES };
    using subscriber = startSubscriber({ port: server.port, timing });
    await subscriber.event('applied 1');
    expect(subscriber.events).toEqual([
      'connected',
      `disconnected: ${reason}`,
      'connected',
      'applied 1',
    ]);
  });

  test('an answer of HTTP/1.1', async () => {
    await using server = await listening(createHttp((_, answer) => void answer.end('hello')));
    using subscriber = startSubscriber({ port: server.port });
    await subscriber.event('disconnected', 2);
    expect(subscriber.events.filter((event) => event === 'connected')).toEqual([]);
  });

  test('silence', async () => {
    await using server = await tcpServer(() => {});
    using subscriber = startSubscriber({ port: server.port, timing: { connectWithinMs: 20 } });
    await subscriber.event('disconnected: no connection within 20 ms', 2);
  });

  test('a ping without a reply', async () => {
    const SETTINGS = 4;
    await using server = await tcpServer((socket) => socket.write(http2Frame(SETTINGS, 0, 0)));
    using subscriber = startSubscriber({
      ...{ port: server.port, timing: { pingEveryMs: 20, pongWithinMs: 20 } },
    });
    await subscriber.event('disconnected: it does not answer a ping', 2);
  });

  test('responses to a control plane that reads no reply', async () => {
    const again = frame(responseBytes({ ...RESPONSE_WITH_LIMITS, version_info: '2' }));
    const both = Buffer.concat(Array(500).fill(Buffer.concat([frame(MESSAGE), again])));
    await using server = await firstAnswered((stream) => {
      stream.pause();
      stream.respond(GRPC);
      const send = () => {
        while (!stream.destroyed && stream.write(both));
      };
      stream.on('drain', send);
      send();
    });
    using subscriber = startSubscriber({ port: server.port });
    await subscriber.event('disconnected: it does not read what is sent');
  });
});

async function tcpServer(onSocket: (socket: Socket) => void): Promise<Running> {
  const sockets = new Set<Socket>();
  const server = createTcp((socket) => {
    sockets.add(socket);
    socket.on('error', () => {}).resume();
    onSocket(socket);
  });
  const running = await listening(server);
  return {
    port: running.port,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      await running[Symbol.asyncDispose]();
    },
  };
}

test('replies to pings of the control plane and sends its own', async () => {
  const server = createServer();
  const pinged = once(server, 'session').then(async ([session]) => {
    const pong = new Promise((resolve) => session.ping(resolve));
    const ping = once(session, 'ping');
    return Promise.all([ping, pong]);
  });
  server.on('stream', bytes(frame(MESSAGE)));
  await using running = await listening(server);
  using subscriber = startSubscriber({ port: running.port, timing: { pingEveryMs: 5 } });
  const [, error] = await pinged;
  expect(error).toBeNull();
  expect(subscriber.events.filter((event) => event.startsWith('disconnected'))).toEqual([]);
});

test('takes a message that arrives byte by byte, and two that arrive together', async () => {
  const two = frame(responseBytes({ ...RESPONSE_WITH_LIMITS, version_info: '2' }));
  const three = frame(responseBytes({ ...RESPONSE_WITH_LIMITS, version_info: '3' }));
  const server = createServer();
  server.on('stream', async (stream) => {
    stream.respond(GRPC);
    for (const byte of frame(MESSAGE)) {
      await new Promise((resolve) => stream.write(Buffer.from([byte]), resolve));
    }
    stream.write(Buffer.concat([two, three]));
  });
  await using running = await listening(server);
  using subscriber = startSubscriber({ port: running.port });
  await subscriber.event('applied 3');
  expect(subscriber.events).toEqual(['connected', 'applied 1', 'applied 2', 'applied 3']);
});

test('survives responses with random bytes, and takes the good one after them', async () => {
  let sent: Uint8Array = MESSAGE;
  const server = createServer();
  server.on('stream', (stream) => {
    stream.on('error', () => {});
    stream.respond(GRPC);
    stream.end(Buffer.concat([sent, frame(MESSAGE)]));
  });
  await using running = await listening(server);
  using subscriber = startSubscriber({
    port: running.port,
    timing: { reconnection: { initialMs: 0, maxMs: 0, randomFactor: 0 } },
  });
  const changed = fc.tuple(fc.nat(MESSAGE.length - 1), fc.nat(255)).map(([at, byte]) => {
    const copy = Buffer.from(MESSAGE);
    copy[at] = byte;
    return frame(copy);
  });
  const random = fc.uint8Array({ maxLength: 60 });
  const samples = fc.oneof(
    random,
    random.map((message) => frame(message)),
    changed,
  );
  for (const sample of fc.sample(samples, 300)) {
    sent = sample;
    const before = subscriber.events.filter((event) => event.startsWith('disconnected')).length;
    await subscriber.event('disconnected', before + 2);
  }
  sent = Buffer.alloc(0);
  const applied = subscriber.events.filter((event) => event === 'applied 1').length;
  await subscriber.event('applied 1', applied + 1);
});

test('survives random bytes in place of HTTP/2', async () => {
  const SETTINGS = 4;
  let sent: Uint8Array = Buffer.alloc(0);
  await using server = await tcpServer((socket) => {
    socket.end(Buffer.concat([http2Frame(SETTINGS, 0, 0), sent]));
  });
  using subscriber = startSubscriber({
    port: server.port,
    timing: { reconnection: { initialMs: 0, maxMs: 0, randomFactor: 0 } },
  });
  const payload = fc.uint8Array({ maxLength: 40 });
  const frames = fc
    .tuple(fc.nat(10), fc.nat(255), fc.constantFrom(0, 1, 2), payload)
    .map(([type, flags, stream, bytes]) => http2Frame(type, flags, stream, bytes));
  const samples = fc.array(fc.oneof(frames, payload), { maxLength: 5 });
  for (const sample of fc.sample(samples, 200)) {
    sent = Buffer.concat(sample);
    const before = subscriber.events.filter((event) => event.startsWith('disconnected')).length;
    await subscriber.event('disconnected', before + 2);
  }
  expect(subscriber.offered).toEqual([]);
});
