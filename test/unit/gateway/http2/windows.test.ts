/** Flow control in both directions (RFC 9113, section 5.2 and section 6.9). */
import { describe, expect, test } from 'vitest';
import type { Http2Stream } from '../../../../src/gateway/http2/stream.ts';
import { END_STREAM, frame, Type } from '../../../support/http2-frames.ts';
import {
  answerAtEnd,
  answerOn,
  asked,
  block,
  data,
  END_HEADERS,
  HEAD,
  INITIAL_WINDOW_SIZE,
  opened,
  PADDED,
  type RawPeer,
  reset,
  settings,
  startPeerServer,
  TRAILERS,
  widened,
} from '../../../support/http2-peer.ts';

const windowOf = (size: number) => settings([INITIAL_WINDOW_SIZE, size]);
const FULL_FRAME = Buffer.alloc(16_384, 'x');
const frames = (stream: number, count: number) =>
  Array.from({ length: count }, () => data(stream, FULL_FRAME));
const PADDING = Buffer.concat([Buffer.from([255]), Buffer.alloc(16_383)]);
/** What a stream, and a connection, may receive. */
const STREAM_WINDOW = 65_535;
const CONNECTION_WINDOW = 1_048_576;

describe('an answer', () => {
  const connected = async (onRequest = answerAtEnd('hello')) =>
    (await startPeerServer(onRequest)).connected();

  test('goes byte by byte to a peer with a window of one byte', async () => {
    const peer = await connected();
    expect(await peer.says(windowOf(1), asked(1))).toEqual(['headers 1 :status=200', 'data 1 h']);
    for (const letter of 'ell') {
      expect(await peer.says(widened(1, 1))).toEqual([`data 1 ${letter}`]);
    }
    expect(await peer.says(widened(1, 1))).toEqual(['data 1 o', 'headers 1 grpc-status=0, end']);
  });

  test('waits for a window of its stream, then for one of the connection', async () => {
    const peer = await connected(answerAtEnd('y'.repeat(70_000)));
    const sizeOf = (news: string[]) =>
      news
        .filter((each) => each.startsWith('data'))
        .reduce((sum, each) => sum + each.length - 7, 0);
    expect(sizeOf(await peer.says(asked(1)))).toBe(65_535);
    expect(await peer.says(widened(1, 10_000))).toEqual([]);
    expect(sizeOf(await peer.says(widened(0, 4_000)))).toBe(4_000);
    const rest = await peer.says(widened(0, 4_000));
    expect(sizeOf(rest)).toBe(70_000 - 69_535);
    expect(rest.at(-1)).toBe('headers 1 grpc-status=0, end');
  });

  test('has frames that every peer accepts', async () => {
    const peer = await connected(answerAtEnd('y'.repeat(60_000)));
    await peer.says(asked(1));
    const lengths = peer.received.map(({ payload }) => payload.length);
    expect(Math.max(...lengths)).toBeLessThanOrEqual(16_384);
  });

  test('goes on when the setting lets open streams send more', async () => {
    const peer = await connected();
    expect(await peer.says(windowOf(0), asked(1), asked(3))).toEqual([
      'headers 1 :status=200',
      'headers 3 :status=200',
    ]);
    expect(await peer.says(windowOf(2))).toEqual(['data 1 he', 'data 3 he']);
    expect(await peer.says(windowOf(100))).toEqual([
      ...answerOn(1, 'llo').slice(1),
      ...answerOn(3, 'llo').slice(1),
    ]);
  });

  test('waits until a window that the setting made negative is positive', async () => {
    const peer = await connected();
    await peer.says(windowOf(3), asked(1));
    // 3 bytes were sent, so the window is -3.
    expect(await peer.says(windowOf(0))).toEqual([]);
    expect(await peer.says(widened(1, 3))).toEqual([]);
    expect(await peer.says(widened(1, 1))).toEqual(['data 1 l']);
    expect(await peer.says(widened(1, 1))).toEqual(answerOn(1, 'o').slice(1));
  });

  test('uses the last of several sizes in one frame', async () => {
    const peer = await connected();
    const sizes = settings([INITIAL_WINDOW_SIZE, 0], [INITIAL_WINDOW_SIZE, 1]);
    expect(await peer.says(sizes, asked(1))).toEqual(['headers 1 :status=200', 'data 1 h']);
  });

  test('that waits does not hold back others', async () => {
    const peer = await connected();
    await peer.says(windowOf(1), asked(1));
    expect(await peer.says(asked(3), widened(3, 4))).toEqual([
      'headers 3 :status=200',
      'data 3 h',
      'data 3 ello',
      'headers 3 grpc-status=0, end',
    ]);
    expect(await peer.says(widened(1, 4))).toEqual(answerOn(1, 'ello').slice(1));
  });

  test('that waits is dropped with its stream', async () => {
    const streams: Http2Stream[] = [];
    const peer = await connected((stream) => {
      streams.push(stream);
      answerAtEnd('hello')(stream);
    });
    await peer.says(windowOf(1), asked(1));
    expect(streams[0]?.isGone).toBe(false);
    expect(await peer.says(reset(1), widened(0, 100), windowOf(100), asked(3))).toEqual(
      answerOn(3),
    );
    expect(streams[0]?.isGone).toBe(true);
  });

  test('that waits for the connection is dropped with its stream, too', async () => {
    const peer = await connected(answerAtEnd('y'.repeat(70_000)));
    await peer.says(windowOf(100_000), asked(1));
    expect(await peer.says(reset(1), widened(0, 100))).toEqual([]);
  });

  test('of several parts keeps their order while it waits', async () => {
    const peer = await connected((stream) => {
      stream.listener = {
        onData() {
          stream.respond(HEAD);
          for (const part of ['ab', '', 'cd', 'ef']) stream.write(part);
          stream.end(TRAILERS);
          stream.write('not sent');
          stream.end(TRAILERS);
        },
        onClosed() {},
      };
    });
    await peer.says(windowOf(1), asked(1));
    const rest = [await peer.says(widened(1, 2)), await peer.says(widened(1, 3))];
    expect(rest).toEqual([['data 1 bc'], answerOn(1, 'def').slice(1)]);
  });

  test.each([
    ['of the connection', 'goaway 1 flowControl', [widened(0, 2 ** 31 - 1)]],
    [
      'by the setting',
      'goaway 1 flowControl',
      [widened(1, 2 ** 31 - 1 - 65_535), windowOf(65_536)],
    ],
  ])('has no window of more than 2^31 - 1 bytes %s', async (_, end, frames) => {
    const peer = await connected(() => {});
    expect(await peer.saysAtEnd(asked(1), ...frames)).toEqual([end]);
  });
});

describe('a request', () => {
  /** It never answers. */
  const connected = async () => (await startPeerServer(() => {})).connected();
  const creditsOf = (news: string[], stream: number) =>
    news
      .filter((each) => each.startsWith(`credit ${stream} `))
      .reduce((sum, each) => sum + Number(each.split(' ')[2]), 0);
  test('gets credit for all of its bytes while it goes on', async () => {
    const peer = await connected();
    let credit = STREAM_WINDOW;
    peer.send(opened(1));
    for (let i = 0; i < 30; i++) {
      credit -= FULL_FRAME.length;
      credit += creditsOf(await peer.says(data(1, FULL_FRAME)), 1);
      expect(credit).toBeGreaterThan(STREAM_WINDOW / 2);
      expect(credit).toBeLessThanOrEqual(STREAM_WINDOW);
    }
  });

  test.each<[string, (peer: RawPeer, stream: number) => Buffer[]]>([
    ['of a body', (_, stream) => [opened(stream), data(stream, FULL_FRAME)]],
    [
      'that is only padding',
      (_, stream) => [
        opened(stream),
        frame(Type.data, PADDED, stream, Buffer.concat([Buffer.from([255]), Buffer.alloc(255)])),
        ...frames(stream, 1),
      ],
    ],
    [
      'of a stream that was reset by the server',
      (_, stream) => [opened(stream, [['Bad', 'a']]), ...frames(stream, 1)],
    ],
    [
      'of a stream that its peer has reset',
      (_, stream) => [opened(stream), reset(stream), data(stream, FULL_FRAME)],
    ],
    [
      'of a stream that has ended',
      (_, stream) => [
        frame(
          Type.headers,
          END_HEADERS | END_STREAM,
          stream,
          block([
            [':method', 'POST'],
            [':scheme', 'http'],
            [':path', '/'],
          ]),
        ),
        data(stream, FULL_FRAME),
      ],
    ],
  ])('gives the connection credit for every byte %s', async (_, sent) => {
    const peer = await connected();
    let credit = CONNECTION_WINDOW;
    for (let stream = 1; stream < 2 * 200; stream += 2) {
      const bytes = sent(peer, stream);
      const used = bytes
        .filter((each) => each[3] === Type.data)
        .reduce((sum, each) => sum + each.length - 9, 0);
      credit -= used;
      // What is open is reset, so that unfinished requests do not fill up.
      credit += creditsOf(await peer.says(...bytes, reset(stream)), 0);
      expect(credit).toBeGreaterThan(CONNECTION_WINDOW / 2 - 17_000);
      expect(credit).toBeLessThanOrEqual(CONNECTION_WINDOW);
    }
  });

  test('is answered although the windows of others are used up', async () => {
    const server = await startPeerServer(answerAtEnd('hello'));
    const peer = await server.connected();
    // Many times the window of the connection, in messages that are not complete.
    for (let stream = 1; stream < 2 * 100; stream += 2) {
      await peer.says(opened(stream), data(stream, FULL_FRAME));
    }
    expect(await peer.says(opened(201), data(201, 'a', END_STREAM))).toEqual(answerOn(201));
  });
});

/** As if its bytes had arrived at once, before the server could credit any of them. */
describe('a peer that sends more than it may', () => {
  test.each([
    ['in bytes', Array.from({ length: 5 }, () => data(1, FULL_FRAME))],
    [
      'in padding',
      Array.from({ length: 4 }, () => frame(Type.data, PADDED, 1, PADDING)).concat(data(1, 'x')),
    ],
  ])('on a stream gets the stream reset: %s', async (_, frames) => {
    const server = await startPeerServer(answerAtEnd('hello'));
    const peer = await server.connected();
    await peer.says(opened(1));
    server.accepted[0]?.emit('data', Buffer.concat(frames));
    expect((await peer.says()).filter((each) => !each.startsWith('credit'))).toEqual([
      'reset 1 flowControl',
    ]);
    expect(await peer.says(asked(3))).toEqual(answerOn(3));
  });

  test('up to the last byte gets none reset', async () => {
    const server = await startPeerServer(answerAtEnd('hello'));
    const peer = await server.connected();
    await peer.says(opened(1));
    const frames = [...Array.from({ length: 3 }, () => FULL_FRAME), FULL_FRAME.subarray(1)];
    server.accepted[0]?.emit('data', Buffer.concat(frames.map((each) => data(1, each))));
    expect(await peer.says()).toEqual(['credit 1 65535']);
  });

  test('on a connection gets it closed, and up to its last byte not', async () => {
    const server = await startPeerServer(answerAtEnd('hello'));
    const streams = Array.from({ length: 22 }, (_, i) => 1 + 2 * i);
    const all = streams.flatMap((stream) => frames(stream, 3));
    const enough = all.slice(0, CONNECTION_WINDOW / FULL_FRAME.length);
    for (const [i, more] of [[], [data(43, 'x')]].entries()) {
      const peer = await server.connected();
      await peer.says(...streams.map((stream) => opened(stream)));
      server.accepted[i]?.emit('data', Buffer.concat([...enough, ...more]));
      const news = (await peer.says()).filter((each) => !each.startsWith('credit'));
      expect(news).toEqual(more.length === 0 ? [] : ['goaway 43 flowControl']);
    }
  });
});
