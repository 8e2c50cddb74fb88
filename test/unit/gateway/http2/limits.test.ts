/** What peers cannot do to a connection, and what they can: each flood, each bomb, and each kind of waiting. */
import { once } from 'node:events';
import { afterEach, describe, expect, test, vi } from 'vitest';
import type { Http2Stream } from '../../../../src/gateway/http2/stream.ts';
import { END_STREAM, frame, PREFACE, START, Type } from '../../../support/http2-frames.ts';
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
  type PeerServer,
  PING,
  REQUEST,
  reset,
  settings,
  startPeerServer,
  TRAILERS,
  widened,
} from '../../../support/http2-peer.ts';

afterEach(() => {
  vi.useRealTimers();
});

const times = (count: number, make: (i: number) => Buffer) =>
  Buffer.concat(Array.from({ length: count }, (_, i) => make(i)));
const idOf = (i: number) => 2 * i + 1;
const MAX_STREAMS = 1_024;
const RESETS = 1_024;
/** Of frames without a part of a request. */
const CONTROL_FRAMES = 4_096;

/** As if the bytes had arrived at once, so that no time passes. */
async function given(server: PeerServer, bytes: Buffer): Promise<string | undefined> {
  const peer = await server.connected();
  await peer.says();
  server.accepted.at(-1)?.emit('data', bytes);
  return (await peer.says()).findLast((each) => each.startsWith('goaway'));
}

describe('a connection is closed if it is flooded with', () => {
  test.each<[string, number, (i: number) => Buffer]>([
    [
      'streams that are reset at once',
      RESETS,
      (i) => Buffer.concat([opened(idOf(i)), reset(idOf(i))]),
    ],
    ['requests that the server must reset', RESETS, (i) => asked(idOf(i), [['Bad', 'a']])],
    [
      'WINDOW_UPDATE that breaks streams',
      RESETS,
      (i) => Buffer.concat([opened(idOf(i)), widened(idOf(i), 0)]),
    ],
    ['PING', CONTROL_FRAMES, () => PING],
    ['SETTINGS', CONTROL_FRAMES, () => settings()],
    ['confirmations of SETTINGS', CONTROL_FRAMES, () => frame(Type.settings, 1, 0)],
    [
      'long SETTINGS',
      CONTROL_FRAMES / 240,
      () => frame(Type.settings, 0, 0, Buffer.alloc(16_380, 9)),
    ],
    ['PRIORITY', CONTROL_FRAMES, () => frame(Type.priority, 0, 1, Buffer.alloc(5))],
    ['WINDOW_UPDATE', CONTROL_FRAMES, () => widened(0, 1)],
    ['GOAWAY', CONTROL_FRAMES, () => frame(Type.goaway, 0, 0, Buffer.alloc(8))],
    ['unknown frames', CONTROL_FRAMES, () => frame(99, 0, 0)],
    ['empty DATA', CONTROL_FRAMES, (i) => (i === 0 ? opened(1) : data(1))],
    [
      'DATA of padding only',
      CONTROL_FRAMES,
      (i) => (i === 0 ? opened(1) : frame(Type.data, 8, 1, Buffer.from([0]))),
    ],
  ])('%s, and not by half of them', async (_, enough, make) => {
    const server = await startPeerServer(() => {});
    expect(await given(server, times(Math.floor(enough / 2), make))).toBeUndefined();
    const more = times(Math.ceil(2 * enough) + 2, make);
    expect(await given(server, more)).toMatch(/^goaway \d+ enhanceYourCalm$/);
  });

  test('CONTINUATION of which nine make no header block', async () => {
    const server = await startPeerServer();
    const peer = await server.connected();
    const empty = times(7, () => frame(Type.continuation, 0, 1));
    const last = frame(Type.continuation, END_HEADERS, 1);
    expect(await peer.says(opened(1, [], END_STREAM), empty, last)).toEqual(answerOn(1));
    const more = times(9, () => frame(Type.continuation, 0, 3));
    expect(await peer.saysAtEnd(opened(3, [], END_STREAM), more)).toEqual([
      'goaway 1 enhanceYourCalm',
    ]);
  });

  test('a header block of more than 64 KiB', async () => {
    const server = await startPeerServer();
    const peer = await server.connected();
    const part = block([['a', 'b'.repeat(16_000)]]);
    const parts = times(4, () => frame(Type.continuation, 0, 1, part));
    expect(await peer.saysAtEnd(opened(1, [], 0), parts, parts)).toEqual([
      'goaway 0 enhanceYourCalm',
    ]);
  });
});

test('pings and windows with every answer, as grpc-go sends them, are no flood', async () => {
  const server = await startPeerServer();
  const peer = await server.connected();
  await peer.says();
  const answered = times(20_000, (i) =>
    Buffer.concat([asked(idOf(i)), PING, widened(0, 5), settings()]),
  );
  server.accepted[0]?.emit('data', answered);
  expect((await peer.says()).findLast((each) => each.startsWith('goaway'))).toBeUndefined();
});

describe('a header list', () => {
  const refused = async (fields: readonly (readonly [string, string])[]) => {
    const server = await startPeerServer();
    const peer = await server.connected();
    const [first, ...more] =
      block([...REQUEST, ...fields])
        .toString('latin1')
        .match(/.{1,16384}/gs) ?? [];
    const frames = [first ?? '', ...more].map((part, i, { length }) =>
      frame(
        i === 0 ? Type.headers : Type.continuation,
        (i === 0 ? END_STREAM : 0) | (i === length - 1 ? END_HEADERS : 0),
        1,
        Buffer.from(part, 'latin1'),
      ),
    );
    const says = await peer.says(...frames);
    expect(await peer.says(asked(3))).toEqual(answerOn(3));
    return says;
  };

  test('of 60 KiB is accepted', async () => {
    expect(await refused([['a', 'b'.repeat(60_000)]])).toEqual(answerOn(1));
  });

  test('of more than 64 KiB is refused, and costs no connection', async () => {
    expect(await refused([['a', 'b'.repeat(65_400)]])).toEqual(['reset 1 enhanceYourCalm']);
  });

  test('of more than 128 fields is refused', async () => {
    const fields = Array.from({ length: 125 }, () => ['a', 'b'] as const);
    expect(await refused(fields.slice(1))).toEqual(answerOn(1));
    expect(await refused(fields)).toEqual(['reset 1 enhanceYourCalm']);
  });

  test('that is small, but refers to a long field again and again, is refused', async () => {
    const server = await startPeerServer();
    const peer = await server.connected();
    const long = Buffer.concat([
      Buffer.from([0x40, 1, 0x61, 127, 4_000 - 127 - 128 * 30, 30]),
      Buffer.alloc(4_000, 'b'),
    ]);
    // The length of the value: 127 + 33 + 30 * 128.
    long[4] = ((4_000 - 127) % 128) | 128;
    long[5] = (4_000 - 127) >> 7;
    const bomb = Buffer.concat([block(REQUEST), long, Buffer.alloc(10_000, 0xbe)]);
    const flags = END_HEADERS | END_STREAM;
    expect(await peer.says(frame(Type.headers, flags, 1, bomb))).toEqual([
      'reset 1 enhanceYourCalm',
    ]);
    expect(await peer.says(asked(3))).toEqual(answerOn(3));
  });
});

test('1,024 streams are open at once, further ones are refused, and ended ones make place', async () => {
  const streams: Http2Stream[] = [];
  const server = await startPeerServer((stream) => {
    streams.push(stream);
  });
  const peer = await server.connected();
  expect(await peer.says(times(MAX_STREAMS, (i) => asked(idOf(i))))).toEqual([]);
  const next = idOf(MAX_STREAMS);
  expect(await peer.says(asked(next))).toEqual([`reset ${next} refusedStream`]);
  expect(streams).toHaveLength(MAX_STREAMS);
  streams[0]?.refuse(TRAILERS);
  expect(await peer.says(asked(next + 2))).toEqual(['headers 1 grpc-status=0, end']);
  expect(streams).toHaveLength(MAX_STREAMS + 1);
});

test('SETTINGS say how many streams and how long a header list may be', async () => {
  const server = await startPeerServer();
  const peer = await server.silent();
  await peer.until(() => peer.received.length > 0);
  expect(peer.received[0]?.payload.toString('hex')).toBe('0003000004000006' + '00010000');
});

describe('requests that are not complete', () => {
  const FULL_FRAME = Buffer.alloc(16_384, 'x');
  /** Their headers take some of the 8 MiB. */
  const COUNT = (8 * 1_024 * 1_024) / FULL_FRAME.length - 6;

  test('hold at most 8 MiB of a connection, and the one that wants more is refused', async () => {
    const server = await startPeerServer(answerAtEnd('hello'));
    const peer = await server.connected();
    for (let i = 0; i < COUNT; i++) {
      const says = await peer.says(opened(idOf(i)), data(idOf(i), FULL_FRAME));
      expect(says.filter((each) => !each.startsWith('credit'))).toEqual([]);
    }
    const next = idOf(COUNT);
    expect(await peer.says(opened(next), data(next, 'x'))).toEqual([]);
    expect(await peer.says(data(next, FULL_FRAME))).toEqual([`reset ${next} enhanceYourCalm`]);
    expect(await peer.says(asked(next + 2))).toEqual(answerOn(next + 2));
  });

  test('count with their headers', async () => {
    const server = await startPeerServer();
    const peer = await server.connected();
    const long = [['a', 'b'.repeat(16_000)]] as const;
    const refused: string[] = [];
    for (let i = 0; i < COUNT + 20; i++) refused.push(...(await peer.says(opened(idOf(i), long))));
    expect(refused.length).toBeGreaterThan(0);
    expect(new Set(refused.map((each) => each.split(' ')[2]))).toEqual(
      new Set(['enhanceYourCalm']),
    );
  });

  test.each<[string, (stream: number) => Buffer[]]>([
    ['end', (stream) => [data(stream, '', END_STREAM)]],
    ['are reset', (stream) => [reset(stream)]],
    ['are refused', (stream) => [widened(stream, 0)]],
    ['are malformed', (stream) => [opened(stream)]],
  ])('count no longer once they %s', async (_, end) => {
    const server = await startPeerServer(answerAtEnd('hello'));
    const peer = await server.connected();
    for (let i = 0; i < COUNT + 10; i++) {
      const stream = idOf(i);
      const says = await peer.says(opened(stream), data(stream, FULL_FRAME), ...end(stream));
      expect(says.join(' ')).not.toContain('enhanceYourCalm');
    }
  });
});

describe('a peer that does not read', () => {
  test('is not read from while much waits for it, and gets everything once it reads', async () => {
    const TEXT = 'y'.repeat(30_000);
    const server = await startPeerServer(answerAtEnd(TEXT));
    const peer = await server.connected();
    await peer.says(settings([INITIAL_WINDOW_SIZE, 2 ** 31 - 1]), widened(0, 2 ** 30));
    const [socket] = server.accepted;
    peer.socket.pause();
    let sent = 0;
    while (!socket?.isPaused()) {
      peer.send(asked(idOf(sent++)));
      await new Promise(setImmediate);
    }
    expect(socket.writableLength).toBeGreaterThan(256 * 1_024);
    peer.socket.resume();
    const says = await peer.says();
    expect(says.filter((each) => each.endsWith('grpc-status=0, end'))).toHaveLength(sent);
    expect(socket.isPaused()).toBe(false);
  });

  test('is disconnected if more than 16 MiB wait for its windows', async () => {
    const server = await startPeerServer(answerAtEnd('y'.repeat(1_024 * 1_024)));
    const peer = await server.connected();
    await peer.says(
      settings([INITIAL_WINDOW_SIZE, 0]),
      times(15, (i) => asked(idOf(i))),
    );
    expect(peer.isClosed).toBe(false);
    peer.send(asked(31), asked(33));
    await peer.until(() => peer.isClosed);
  });

  test('does not hold back the answers of others', async () => {
    const server = await startPeerServer(answerAtEnd('hello'));
    const slow = await server.connected();
    await slow.says(settings([INITIAL_WINDOW_SIZE, 0]), asked(1));
    const other = await server.connected();
    expect(await other.says(asked(1))).toEqual(answerOn(1));
  });
});

/** Only intervals and timeouts stand still, so that sockets go on. */
const stopTime = () =>
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'setTimeout', 'clearTimeout'] });
const SWEEP_MS = 10_000;

describe('a peer that does not finish', () => {
  test.each<[string, Buffer]>([
    ['its preface', Buffer.from(PREFACE.slice(0, 5))],
    ['a frame', Buffer.concat([START, asked(1), asked(3).subarray(0, -1)])],
    ['the head of a frame', Buffer.concat([START, asked(1), Buffer.from([0])])],
    ['a header block', Buffer.concat([START, asked(1), opened(3, [], 0)])],
  ])('%s is disconnected at the second look at it', async (_, sent) => {
    stopTime();
    const server = await startPeerServer();
    const peer = await server.silent();
    peer.send(sent);
    const [socket] = server.accepted;
    while (socket?.bytesRead !== sent.length) await new Promise(setImmediate);
    vi.advanceTimersByTime(SWEEP_MS);
    expect(socket.destroyed).toBe(false);
    vi.advanceTimersByTime(SWEEP_MS);
    expect(socket.destroyed).toBe(true);
    await once(peer.socket, 'close');
  });

  test('a frame stays connected while it finishes others', async () => {
    stopTime();
    const server = await startPeerServer();
    const peer = await server.connected();
    let rest: Buffer = Buffer.alloc(0);
    for (let i = 0; i < 5; i++) {
      const next = asked(idOf(i));
      peer.send(rest, next.subarray(0, 12));
      rest = next.subarray(12);
      const expected = peer.socket.bytesWritten;
      while (server.accepted[0]?.bytesRead !== expected) await new Promise(setImmediate);
      vi.advanceTimersByTime(SWEEP_MS);
      expect(server.accepted[0]?.destroyed).toBe(false);
    }
  });

  test('a header block is disconnected however many frames it sends of it', async () => {
    stopTime();
    const server = await startPeerServer();
    const peer = await server.connected();
    peer.send(opened(1, [], 0));
    for (let i = 0; i < 2; i++) {
      peer.send(frame(Type.continuation, 0, 1));
      const expected = peer.socket.bytesWritten;
      while (server.accepted[0]?.bytesRead !== expected) await new Promise(setImmediate);
      vi.advanceTimersByTime(SWEEP_MS);
    }
    expect(server.accepted[0]?.destroyed).toBe(true);
  });

  test('a request has it reset after half a minute, and its answer may take longer', async () => {
    stopTime();
    const server = await startPeerServer(() => {});
    const peer = await server.connected();
    await peer.says(asked(1), opened(3), data(3, 'x'));
    vi.advanceTimersByTime(3 * SWEEP_MS);
    expect(await peer.says(data(3, 'y'))).toEqual([]);
    vi.advanceTimersByTime(SWEEP_MS);
    expect(await peer.says()).toEqual(['reset 3 cancel']);
    vi.advanceTimersByTime(10 * SWEEP_MS);
    expect(await peer.says()).toEqual([]);
  });
});

describe('pings', () => {
  const pingsOf = (peer: Awaited<ReturnType<PeerServer['connected']>>) =>
    peer.received.filter(({ type, flags }) => type === Type.ping && flags === 0);

  test('find peers that are gone: one a minute, with ten seconds to answer', async () => {
    stopTime();
    const server = await startPeerServer();
    const [peer, silent] = [await server.connected(), await server.connected()];
    await peer.says();
    await silent.says();
    vi.advanceTimersByTime(60_000);
    await peer.until(() => pingsOf(peer).length === 1 && pingsOf(silent).length === 1);
    await peer.says(frame(Type.ping, 1, 0, pingsOf(peer)[0]?.payload));
    vi.advanceTimersByTime(9_999);
    expect(server.accepted.map(({ destroyed }) => destroyed)).toEqual([false, false]);
    vi.advanceTimersByTime(1);
    expect(server.accepted.map(({ destroyed }) => destroyed)).toEqual([false, true]);
  });

  test('are not answered by another pong', async () => {
    stopTime();
    const server = await startPeerServer();
    const peer = await server.connected();
    vi.advanceTimersByTime(60_000);
    await peer.says(frame(Type.ping, 1, 0, Buffer.alloc(8)));
    vi.advanceTimersByTime(10_000);
    expect(server.accepted[0]?.destroyed).toBe(true);
  });
});

test('an answer is not begun twice, and nothing is sent on a stream that is gone', async () => {
  const streams: Http2Stream[] = [];
  const server = await startPeerServer((stream) => {
    streams.push(stream);
  });
  const peer = await server.connected();
  await peer.says(asked(1), asked(3), reset(3));
  const [stream, gone] = streams as [Http2Stream, Http2Stream];
  stream.write('before its head');
  stream.end(TRAILERS);
  for (const each of [stream, gone]) {
    each.respond(HEAD);
    each.respond(HEAD);
    each.refuse(HEAD);
    each.write('hello');
    each.end(TRAILERS);
    each.end(TRAILERS);
  }
  expect(await peer.says()).toEqual(answerOn(1));
});
