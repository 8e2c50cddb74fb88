/** One connection: what is written at once, its faults, and sockets that come from elsewhere. */
import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { createHttp2Server } from '../../../../src/gateway/http2/server.ts';
import type { Http2Stream } from '../../../../src/gateway/http2/stream.ts';
import { END_STREAM, frame, START, Type } from '../../../support/http2-frames.ts';
import {
  answerAtEnd,
  answerOn,
  asked,
  block,
  data,
  END_HEADERS,
  HEAD,
  opened,
  RawPeer,
  REQUEST,
  reset,
  settings,
  startPeerServer,
  TRAILERS,
} from '../../../support/http2-peer.ts';
import { listenLocally } from '../../../support/local-server.ts';

test('answers of one turn are one write for each connection', async () => {
  const waiting: Http2Stream[] = [];
  const server = await startPeerServer((stream) => {
    waiting.push(stream);
  });
  const peers = [await server.connected(), await server.connected()];
  for (const peer of peers) await peer.says(...[1, 3, 5, 7].map((stream) => asked(stream)));
  const writes: number[] = [];
  for (const [i, socket] of server.accepted.entries()) {
    const write = socket.write.bind(socket);
    socket.write = (chunk: Uint8Array) => {
      writes.push(i);
      return write(chunk);
    };
  }
  for (const stream of waiting) {
    stream.respond(HEAD);
    stream.write('hello');
    stream.end(TRAILERS);
  }
  for (const peer of peers) {
    await peer.until(() => peer.received.filter(({ type }) => type === Type.data).length === 4);
  }
  expect(writes).toEqual([0, 1]);
});

test('what a read causes is written together with the answers of that turn', async () => {
  const waiting: Http2Stream[] = [];
  const server = await startPeerServer((stream) => {
    if (waiting.push(stream) > 1) return;
    setImmediate(() => {
      for (const each of waiting) {
        each.respond(HEAD);
        each.write('hello');
        each.end(TRAILERS);
      }
    });
  });
  const peer = await server.connected();
  await peer.says();
  const socket = server.accepted[0] as Socket;
  const write = socket.write.bind(socket);
  let writes = 0;
  socket.write = (chunk: Uint8Array) => {
    writes++;
    return write(chunk);
  };
  socket.emit('data', Buffer.concat([settings(), asked(1), asked(3)]));
  await peer.until(() => peer.received.filter(({ type }) => type === Type.data).length === 2);
  expect(writes).toBe(1);
});

test('the end of an answer before that of its request makes the peer stop sending', async () => {
  const server = await startPeerServer((stream) => stream.refuse(TRAILERS));
  const peer = await server.connected();
  const says = await peer.says(opened(1), data(1, 'x'), data(1, 'y', END_STREAM));
  expect(says).toEqual(['headers 1 grpc-status=0, end', 'reset 1 none']);
  expect(await peer.says(asked(3))).toEqual(['headers 3 grpc-status=0, end', 'reset 3 none']);
});

test('a peer that changes the size of its table gets the change confirmed in the next block', async () => {
  const server = await startPeerServer();
  const peer = await server.connected();
  const first = async (stream: number) => {
    await peer.says(asked(stream));
    const heads = peer.received.filter(({ type }) => type === Type.headers);
    return heads.slice(-2).map(({ payload }) => payload[0] === 0x20);
  };
  expect(await first(1)).toEqual([false, false]);
  await peer.says(settings([1, 100]));
  expect(await first(3)).toEqual([true, false]);
  expect(await first(5)).toEqual([false, false]);
  await peer.says(settings([1, 4_096]));
  expect(await first(7)).toEqual([true, false]);
});

test('bytes that are kept do not keep the chunk that they came in', async () => {
  const chunks: Buffer[] = [];
  const server = await startPeerServer((stream) => {
    stream.listener = { onData: (chunk) => chunks.push(chunk), onClosed() {} };
  });
  const peer = await server.connected();
  await peer.says(opened(1));
  const chunk = Buffer.alloc(65_536);
  const whole = data(1, 'whole');
  const part = data(1, 'in two parts');
  whole.copy(chunk);
  part.copy(chunk, whole.length, 0, 15);
  server.accepted[0]?.emit('data', chunk.subarray(0, whole.length + 15));
  server.accepted[0]?.emit('data', part.subarray(15));
  expect(chunks.map(String)).toEqual(['whole', 'in two parts']);
  expect(chunks[0]?.buffer).toBe(chunk.buffer);
  expect(chunks[1]?.buffer).not.toBe(chunk.buffer);
});

test('a fault closes its connection and no other', async () => {
  const server = await startPeerServer((stream) => {
    if (stream.headers.fault !== undefined) throw new Error('a fault');
    answerAtEnd('hello')(stream);
  });
  const [peer, other] = [await server.connected(), await server.connected()];
  expect(await peer.saysAtEnd(asked(1, [['fault', 'a']]))).toEqual([]);
  expect(server.faults).toEqual([new Error('a fault')]);
  expect(await other.says(asked(1))).toEqual(answerOn(1));
});

test('a socket that was paused, with bytes waiting, is answered', async () => {
  const http2 = createHttp2Server();
  onTestFinished(() => http2.close());
  const accepted: Socket[] = [];
  const listener = createServer({ pauseOnConnect: true }, (socket) => accepted.push(socket));
  await using server = await listenLocally(listener);
  const socket = connect(server.port, '127.0.0.1');
  const peer = new RawPeer(socket);
  await once(socket, 'connect');
  peer.send(START, asked(1));
  while (accepted.length === 0) await new Promise(setImmediate);
  const run = (work: () => void) => work();
  http2.open(accepted[0] as Socket, { enter: run, leave: run }, answerAtEnd('hello'));
  expect(await peer.says()).toEqual(answerOn(1));
});

test('everything that calls into the socket runs inside the guard, and requests outside', async () => {
  const http2 = createHttp2Server();
  onTestFinished(() => http2.close());
  let depth = 0;
  const seen: string[] = [];
  const listener = createServer((socket) => {
    for (const name of ['write', 'end'] as const) {
      const method = socket[name].bind(socket) as (...sent: unknown[]) => unknown;
      Object.assign(socket, {
        [name]: (...sent: unknown[]) => {
          seen.push(`${name} ${depth}`);
          return method(...sent);
        },
      });
    }
    const guard = {
      enter(work: () => void) {
        depth++;
        work();
        depth--;
      },
      leave(work: () => void) {
        const before = depth;
        depth = 0;
        work();
        depth = before;
      },
    };
    http2.open(socket, guard, (stream) => {
      seen.push(`request ${depth}`);
      answerAtEnd('hello')(stream);
    });
  });
  await using server = await listenLocally(listener);
  const socket = connect(server.port, '127.0.0.1');
  const peer = new RawPeer(socket);
  await peer.says(START, asked(1));
  await peer.saysAtEnd(data(9, 'x'));
  expect([...new Set(seen)].sort()).toEqual(['end 1', 'request 0', 'write 1']);
});

test('streams that are opened and reset in one chunk leave nothing behind', async () => {
  const closed: string[] = [];
  const server = await startPeerServer((stream) => {
    stream.listener = { onData() {}, onClosed: () => closed.push('closed') };
    stream.respond(HEAD);
    stream.write('x');
  });
  const peer = await server.connected();
  for (let i = 0; i < 100; i++) await peer.says(opened(2 * i + 1), reset(2 * i + 1));
  expect(closed).toHaveLength(100);
});

test('a request with its headers in several frames is one request', async () => {
  const server = await startPeerServer();
  const peer = await server.connected();
  const bytes = block(REQUEST);
  for (let cut = 0; cut <= bytes.length; cut++) {
    const stream = 2 * cut + 1;
    const says = await peer.says(
      frame(Type.headers, END_STREAM, stream, bytes.subarray(0, cut)),
      frame(Type.continuation, 0, stream),
      frame(Type.continuation, END_HEADERS, stream, bytes.subarray(cut)),
    );
    expect(says).toEqual(answerOn(stream));
  }
});

test('a connection that has ended is not kept', async () => {
  const server = await startPeerServer();
  const peers = [await server.connected(), await server.connected()];
  for (const peer of peers) await peer.says();
  const [gone, kept] = server.accepted as [Socket, Socket];
  peers[0]?.socket.destroy();
  while (!gone.closed) await new Promise(setImmediate);
  const ended: Socket[] = [];
  for (const socket of [gone, kept]) {
    const write = socket.write.bind(socket);
    socket.write = (chunk: Uint8Array) => {
      ended.push(socket);
      return write(chunk);
    };
  }
  server.server.close();
  await peers[1]?.until(() => ended.length > 0);
  expect(ended).toEqual([kept]);
});
