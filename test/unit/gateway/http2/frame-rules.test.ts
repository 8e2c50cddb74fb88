/** The frames of a connection: their sizes, their order, and which mistakes end a stream or the connection (RFC 9113). */
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { ACK, END_STREAM, frame, PREFACE, START, Type } from '../../../support/http2-frames.ts';
import {
  answerOn,
  asked,
  block,
  data,
  END_HEADERS,
  opened,
  PADDED,
  type PeerServer,
  PING,
  PRIORITY,
  REQUEST,
  reset,
  settings,
  startPeerServer,
  uint32,
  widened,
} from '../../../support/http2-peer.ts';
import { Random } from '../../../support/random.ts';

let server: PeerServer;
beforeEach(async () => {
  server = await startPeerServer();
});
afterEach(() => {
  expect(server.faults).toEqual([]);
});

const bytes = (length: number) => Buffer.alloc(length);

describe('the preface', () => {
  test.each([
    ['of HTTP/1', 'GET / HTTP/1.1\r\nHost: a\r\n\r\n'],
    ['with another byte at its end', `${PREFACE.slice(0, -1)}x`],
    ['of TLS', '\x16\x03\x01\x02\x00\x01'],
  ])('%s: the connection is closed', async (_, sent) => {
    const peer = await server.silent();
    expect(await peer.saysAtEnd(Buffer.from(sent, 'latin1'))).toEqual(['goaway 0 protocol']);
  });

  test('is followed by SETTINGS', async () => {
    for (const first of [PING, asked(1), frame(Type.settings, ACK, 0)]) {
      const peer = await server.silent();
      expect(await peer.saysAtEnd(Buffer.from(PREFACE), first)).toEqual(['goaway 0 protocol']);
    }
  });

  test('may be followed by a request before SETTINGS of the server were read', async () => {
    const peer = await server.silent();
    expect(await peer.says(START, asked(1))).toEqual(answerOn(1));
  });
});

describe('bytes', () => {
  const SENT = Buffer.concat([
    START,
    opened(1),
    data(1, 'body'),
    data(1, '', END_STREAM),
    frame(Type.headers, END_STREAM, 3, block(REQUEST).subarray(0, 3)),
    frame(Type.continuation, END_HEADERS, 3, block(REQUEST).subarray(3)),
    PING,
  ]);

  test('mean the same one by one', async () => {
    const peer = await server.silent();
    for (const byte of SENT) {
      peer.socket.write(Buffer.from([byte]));
      await new Promise(setImmediate);
    }
    expect(await peer.says()).toEqual([...answerOn(1), ...answerOn(3)]);
  });

  test('mean the same in chunks of any size', async () => {
    const random = new Random(36);
    for (let round = 0; round < 40; round++) {
      const peer = await server.silent();
      for (let at = 0; at < SENT.length; ) {
        const end = at + 1 + random.below(round + 1);
        peer.socket.write(SENT.subarray(at, end));
        at = end;
        await new Promise(setImmediate);
      }
      expect(await peer.says()).toEqual([...answerOn(1), ...answerOn(3)]);
    }
  });
});

describe('these end the connection', () => {
  test.each<[string, string, Buffer[]]>([
    ['DATA on stream 0', 'protocol', [data(0, 'a')]],
    ['DATA on a stream that was never open', 'protocol', [data(1, 'a')]],
    ['DATA on a stream of the server', 'protocol', [data(2, 'a')]],
    ['DATA with too much padding', 'protocol', [opened(1), data(1, '\x01', PADDED)]],
    ['DATA without its padding length', 'frameSize', [opened(1), data(1, '', PADDED)]],
    ['a frame of more than 16 KiB', 'frameSize', [opened(1), data(1, bytes(16_385))]],
    ['HEADERS on stream 0', 'protocol', [asked(0)]],
    ['HEADERS on a stream of the server', 'protocol', [asked(2)]],
    ['HEADERS on a lower stream', 'protocol', [asked(5), asked(3)]],
    [
      'HEADERS on a skipped stream, which is remembered in the place of one that has ended',
      'protocol',
      [asked(1), asked(2_051), asked(2_049)],
    ],
    ['HEADERS on a stream that has ended', 'streamClosed', [asked(1), asked(1)]],
    [
      'HEADERS with too much padding',
      'protocol',
      [frame(Type.headers, END_HEADERS | PADDED, 1, Buffer.from([9, 0x83]))],
    ],
    [
      'HEADERS with half a priority',
      'frameSize',
      [frame(Type.headers, END_HEADERS | PRIORITY, 1, bytes(4))],
    ],
    [
      'a header block that cannot be decoded',
      'compression',
      [frame(Type.headers, END_HEADERS, 1, Buffer.from([0xff, 0xff, 0xff, 0xff, 0x0f]))],
    ],
    ['PRIORITY on stream 0', 'protocol', [frame(Type.priority, 0, 0, bytes(5))]],
    [
      'PRIORITY of an idle stream on itself',
      'protocol',
      [frame(Type.priority, 0, 7, Buffer.from([0, 0, 0, 7, 1]))],
    ],
    ['RST_STREAM on stream 0', 'protocol', [reset(0)]],
    ['RST_STREAM on a stream that was never open', 'protocol', [reset(1)]],
    ['RST_STREAM of another size', 'frameSize', [opened(1), frame(Type.reset, 0, 1, bytes(5))]],
    ['SETTINGS on a stream', 'protocol', [frame(Type.settings, 0, 1)]],
    ['SETTINGS of another size', 'frameSize', [frame(Type.settings, 0, 0, bytes(5))]],
    [
      'a confirmation of SETTINGS with bytes',
      'frameSize',
      [frame(Type.settings, ACK, 0, bytes(6))],
    ],
    ['ENABLE_PUSH of 2', 'protocol', [settings([2, 2])]],
    ['INITIAL_WINDOW_SIZE of 2^31', 'flowControl', [settings([4, 2 ** 31])]],
    ['MAX_FRAME_SIZE below 16 KiB', 'protocol', [settings([5, 16_383])]],
    ['MAX_FRAME_SIZE of 2^24', 'protocol', [settings([5, 2 ** 24])]],
    ['PUSH_PROMISE', 'protocol', [opened(1), frame(Type.pushPromise, END_HEADERS, 1, bytes(4))]],
    ['PING on a stream', 'protocol', [frame(Type.ping, 0, 1, bytes(8))]],
    ['PING of another size', 'frameSize', [frame(Type.ping, 0, 0, bytes(7))]],
    ['GOAWAY on a stream', 'protocol', [frame(Type.goaway, 0, 1, bytes(8))]],
    ['GOAWAY of another size', 'frameSize', [frame(Type.goaway, 0, 0, bytes(7))]],
    ['WINDOW_UPDATE of another size', 'frameSize', [frame(Type.windowUpdate, 0, 0, bytes(3))]],
    ['WINDOW_UPDATE of 0', 'protocol', [widened(0, 0)]],
    ['WINDOW_UPDATE on a stream that was never open', 'protocol', [widened(1, 1)]],
    ['CONTINUATION without HEADERS', 'protocol', [frame(Type.continuation, END_HEADERS, 1)]],
    [
      'CONTINUATION after the end of the headers',
      'protocol',
      [opened(1), frame(Type.continuation, END_HEADERS, 1)],
    ],
    [
      'CONTINUATION of another stream',
      'protocol',
      [opened(1, [], 0), frame(Type.continuation, END_HEADERS, 3)],
    ],
    ['DATA inside a header block', 'protocol', [opened(1, [], 0), data(1, 'a')]],
    ['an unknown frame inside a header block', 'protocol', [opened(1, [], 0), frame(99, 0, 1)]],
  ])('%s', async (_, code, frames) => {
    const peer = await server.connected();
    const says = await peer.saysAtEnd(...frames);
    expect(says.at(-1)).toMatch(new RegExp(`^goaway \\d+ ${code}$`));
  });
});

describe('these end a stream, and the connection goes on', () => {
  test.each<[string, string, Buffer[]]>([
    ['WINDOW_UPDATE of 0', 'protocol', [opened(1), widened(1, 0)]],
    ['a window of more than 2^31 - 1', 'flowControl', [opened(1), widened(1, 2 ** 31 - 1)]],
    ['PRIORITY of another size', 'frameSize', [opened(1), frame(Type.priority, 0, 1, bytes(4))]],
    [
      'PRIORITY of an open stream on itself',
      'protocol',
      [opened(1), frame(Type.priority, 0, 1, Buffer.from([0, 0, 0, 1, 1]))],
    ],
    [
      'HEADERS that depend on themselves',
      'protocol',
      [
        frame(
          Type.headers,
          END_HEADERS | END_STREAM | PRIORITY,
          1,
          Buffer.concat([uint32(1), bytes(1), block(REQUEST)]),
        ),
      ],
    ],
    ['trailers that do not end the request', 'protocol', [opened(1), opened(1)]],
    ['DATA after RST_STREAM', 'streamClosed', [opened(1), reset(1), data(1, 'a')]],
    ['HEADERS after RST_STREAM', 'streamClosed', [opened(1), reset(1), opened(1)]],
  ])('%s', async (_, code, frames) => {
    const peer = await server.connected();
    expect(await peer.says(...frames)).toEqual([`reset 1 ${code}`]);
    expect(await peer.says(asked(3))).toEqual(answerOn(3));
  });

  test('DATA after the answer', async () => {
    const peer = await server.connected();
    const says = await peer.says(asked(1), data(1, 'a'), asked(3));
    expect(says).toEqual([...answerOn(1), 'reset 1 streamClosed', ...answerOn(3)]);
  });
});

describe('a stream that waits for its answer', () => {
  test.each<[string, Buffer]>([
    ['DATA', data(1, 'a')],
    ['HEADERS', opened(1)],
    ['trailers', frame(Type.headers, END_HEADERS | END_STREAM, 1, block([['a', 'b']]))],
  ])('is reset by %s after its end', async (_, late) => {
    const waiting = await startPeerServer(() => {});
    const peer = await waiting.connected();
    expect(await peer.says(asked(1), late)).toEqual(['reset 1 streamClosed']);
  });
});

describe('these are ignored', () => {
  test.each<[string, Buffer[]]>([
    ['an unknown frame', [frame(99, 0xff, 7, bytes(20))]],
    ['an unknown setting', [settings([99, 1])]],
    ['PRIORITY of an idle stream', [frame(Type.priority, 0, 7, bytes(5))]],
    ['PRIORITY of a closed stream', [asked(1), frame(Type.priority, 0, 1, bytes(5))]],
    ['WINDOW_UPDATE of a closed stream', [asked(1), widened(1, 5)]],
    ['RST_STREAM of a closed stream', [asked(1), reset(1)]],
    ['a pong to no ping', [frame(Type.ping, ACK, 0, bytes(8))]],
    ['GOAWAY', [frame(Type.goaway, 0, 0, bytes(8))]],
    ['the reserved bit of a stream', [frame(Type.windowUpdate, 0, 0x80000000, uint32(1))]],
  ])('%s', async (_, frames) => {
    const peer = await server.connected();
    await peer.says(...frames);
    expect(await peer.says(asked(9))).toEqual(answerOn(9));
  });
});

test('SETTINGS are confirmed, and a ping gets its own data back', async () => {
  const peer = await server.connected();
  await peer.says(settings([3, 7]), frame(Type.ping, 0, 0, Buffer.from('12345678')));
  const confirmed = peer.received.filter(
    ({ type, flags }) => type === Type.settings && flags === ACK,
  );
  expect(confirmed).toHaveLength(2);
  const pongs = peer.received.filter(({ type }) => type === Type.ping);
  expect(pongs.map(({ flags, payload }) => [flags, payload.toString('latin1', 0, 1)])).toEqual([
    [ACK, '1'],
    [ACK, '\x07'],
  ]);
});

test('padding and priorities of requests are dropped', async () => {
  const bodies: string[] = [];
  const other = await startPeerServer((stream) => {
    stream.listener = { onData: (chunk) => bodies.push(chunk.toString()), onClosed() {} };
  });
  const peer = await other.connected();
  const padded = (payload: Uint8Array) => Buffer.concat([Buffer.from([3]), payload, bytes(3)]);
  await peer.says(
    frame(
      Type.headers,
      END_HEADERS | PADDED | PRIORITY,
      1,
      padded(Buffer.concat([uint32(0), bytes(1), block(REQUEST)])),
    ),
    data(1, padded(Buffer.from('body')), PADDED),
    data(1, padded(Buffer.from('end')), PADDED | END_STREAM),
  );
  expect(bodies).toEqual(['body', 'end']);
});

test('frames on a stream that the server has reset are dropped, and change nothing', async () => {
  const peer = await server.connected();
  const refused = opened(1, [['Upper', 'a']]);
  const trailers = frame(Type.headers, END_HEADERS | END_STREAM, 1, block([['a', 'b']]));
  const says = await peer.says(refused, data(1, 'a'), widened(1, 5), trailers, reset(1), asked(3));
  expect(says).toEqual(['reset 1 protocol', ...answerOn(3)]);
});
