/** Calls with many messages, frame by frame. */
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { MalformedMessage } from '../../../../../src/gateway/protobuf/reader.ts';
import {
  type ClientStream,
  ClientStreams,
} from '../../../../../src/gateway/server/grpc/client-stream.ts';
import { frame as message } from '../../../../support/grpc-frames.ts';
import { END_STREAM } from '../../../../support/http2-frames.ts';
import {
  data,
  opened,
  type PeerServer,
  type RawPeer,
  reset,
  startPeerServer,
} from '../../../../support/http2-peer.ts';

const KIB = 1_024;
/** One of the server's sweeps for unfinished requests comes every ten seconds; the third resets them. */
const SWEEP_MS = 10_000;

let server: PeerServer;
let peer: RawPeer;
let streams: ClientStreams;
let taken: string[];
beforeEach(async () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
  streams = new ClientStreams();
  taken = [];
  const ofConnections = new WeakMap<object, Set<ClientStream>>();
  server = await startPeerServer((stream) => {
    const connection = server.accepted.at(-1) as object;
    const ofConnection = ofConnections.get(connection) ?? new Set();
    ofConnections.set(connection, ofConnection);
    streams.open(stream, take, ofConnection);
  });
  peer = await server.connected();
  await peer.says();
});
afterEach(() => {
  vi.useRealTimers();
  expect(server.faults).toEqual([]);
});

function take(bytes: Buffer): void {
  const text = bytes.toString();
  if (text === 'malformed') throw new MalformedMessage();
  if (text === 'fault') throw new Error('a fault');
  taken.push(text.length > 100 ? `${text.length} bytes` : text);
}

const text = (...texts: string[]) => Buffer.concat(texts.map((each) => message(Buffer.from(each))));
const REFUSED = 'A message is too long, or compressed.';
const answered = (stream: number) => [
  `headers ${stream} :status=200 content-type=application/grpc`,
  `data ${stream} \0\0\0\0\0`,
  `headers ${stream} grpc-status=0, end`,
];
const refused = (stream: number, code: number, details: string, more: string[] = []) => [
  `headers ${stream} :status=200 content-type=application/grpc grpc-status=${code} grpc-message=${details}, end`,
  ...more,
];
/** The request had not ended. */
const unread = (stream: number) => [`reset ${stream} none`];
const stopped = (stream: number) => [
  `headers ${stream} :status=200 content-type=application/grpc`,
  `headers ${stream} grpc-status=14 grpc-message=The gateway is stopping., end`,
];

describe('a message', () => {
  test('is handled when its last byte has arrived, long before the stream ends', async () => {
    const bytes = text('one');
    expect(await peer.says(opened(1), data(1, bytes.subarray(0, 3)))).toEqual([]);
    await peer.says(data(1, bytes.subarray(3, 7)));
    expect(taken).toEqual([]);
    await peer.says(data(1, bytes.subarray(7)));
    expect(taken).toEqual(['one']);
    expect(await peer.says(data(1, text('two'), END_STREAM))).toEqual(answered(1));
    expect(taken).toEqual(['one', 'two']);
  });

  test('may share a frame with others', async () => {
    const bytes = Buffer.concat([text('one', 'two', ''), text('three').subarray(0, 6)]);
    await peer.says(opened(1), data(1, bytes));
    expect(taken).toEqual(['one', 'two', '']);
    await peer.says(data(1, text('three').subarray(6)));
    expect(taken).toEqual(['one', 'two', '', 'three']);
  });

  test('arrives whatever frames it is sent in', async () => {
    let stream = -1;
    const messages = fc.array(fc.string({ maxLength: 60 }), { minLength: 1, maxLength: 6 });
    const cuts = fc.array(fc.nat(400), { maxLength: 8 });
    await fc.assert(
      fc.asyncProperty(messages, cuts, async (sent, at) => {
        taken = [];
        stream += 2;
        const bytes = text(...sent);
        const ends = [...new Set(at), bytes.length].filter((end) => end <= bytes.length);
        ends.sort((a, b) => a - b);
        const frames = ends.map((end, i) => data(stream, bytes.subarray(ends[i - 1] ?? 0, end)));
        expect(await peer.says(opened(stream), ...frames, data(stream, '', END_STREAM))).toEqual(
          answered(stream),
        );
        expect(taken).toEqual(sent.map((each) => Buffer.from(each).toString()));
      }),
      { numRuns: 50 },
    );
  });

  test('in the middle of which the caller resets the stream is dropped, and those before stay', async () => {
    await peer.says(opened(1), data(1, Buffer.concat([text('one'), text('two').subarray(0, 7)])));
    expect(await peer.says(reset(1), data(1, text('two').subarray(7)))).toEqual([
      'reset 1 streamClosed',
    ]);
    expect(taken).toEqual(['one']);
    expect(await peer.says(opened(3), data(3, text('three'), END_STREAM))).toEqual(answered(3));
    expect(taken).toEqual(['one', 'three']);
  });

  test('that is cut by the end of the stream is an error', async () => {
    const bytes = Buffer.concat([text('one'), Buffer.from([0, 0, 0])]);
    expect(await peer.says(opened(1), data(1, bytes, END_STREAM))).toEqual(
      refused(1, 12, 'Send one complete message.'),
    );
    expect(taken).toEqual(['one']);
  });

  test.each([
    ['malformed', 13, 'The message is malformed.'],
    ['fault', 13, 'The gateway failed.'],
  ])('that is not accepted ends the stream: %s', async (bad, code, details) => {
    expect(await peer.says(opened(1), data(1, text('one', bad, 'two')))).toEqual(
      refused(1, code, details, unread(1)),
    );
    await peer.says(data(1, text('three')));
    expect(taken).toEqual(['one']);
  });

  test('may have 512 KiB, and not a byte more', async () => {
    const sent = (stream: number, bytes: Buffer) => [
      opened(stream),
      ...Array.from({ length: Math.ceil(bytes.length / (16 * KIB)) }, (_, i) =>
        data(stream, bytes.subarray(i * 16 * KIB, (i + 1) * 16 * KIB)),
      ),
    ];
    peer.send(...sent(1, text('x'.repeat(512 * KIB))).slice(0, 4));
    await peer.says();
    const rest = sent(1, text('x'.repeat(512 * KIB))).slice(4);
    for (const each of rest) await peer.says(each);
    expect(taken).toEqual([`${512 * KIB} bytes`]);
    expect(await peer.says(opened(3), data(3, Buffer.from([0, 0, 8, 0, 1])))).toEqual(
      refused(3, 8, REFUSED, unread(3)),
    );
  });
});

test.each([1, 2])(
  'a message with the flag %s, as if it were compressed, ends the stream',
  async (flag) => {
    const sent = data(1, message(Buffer.from('x'), { compressed: flag }));
    expect(await peer.says(opened(1), sent)).toEqual(refused(1, 8, REFUSED, unread(1)));
  },
);

describe('a stream', () => {
  test('without messages is answered', async () => {
    expect(await peer.says(opened(1), data(1, '', END_STREAM))).toEqual(answered(1));
  });

  test('gets credit for what was handled, also beyond all that may be unfinished', async () => {
    await peer.says(opened(1));
    const chunk = text('x'.repeat(16 * KIB - 5));
    // More than 8 MiB, which is what unfinished requests of a connection may have.
    const count = 600;
    for (let i = 0; i < count; i += 2) {
      peer.send(data(1, chunk), data(1, chunk));
      await peer.says();
    }
    expect(taken).toHaveLength(count);
    const credit = peer.received.filter(({ type, stream }) => type === 8 && stream === 1);
    expect(credit.length).toBeGreaterThan(200);
    expect(await peer.says(data(1, text('last'), END_STREAM))).toEqual(answered(1));
  });

  test('may rest between two messages as long as its caller likes', async () => {
    await peer.says(opened(1), data(1, text('one')));
    vi.advanceTimersByTime(4 * SWEEP_MS);
    expect(await peer.says(data(1, text('two')))).toEqual([]);
    vi.advanceTimersByTime(2 * SWEEP_MS);
    expect(await peer.says(data(1, text('three'), END_STREAM))).toEqual(answered(1));
    expect(taken).toEqual(['one', 'two', 'three']);
  });

  test('is reset in the middle of a message that does not end', async () => {
    await peer.says(opened(1), data(1, text('one')));
    vi.advanceTimersByTime(2 * SWEEP_MS);
    await peer.says(data(1, text('two').subarray(0, 2)));
    vi.advanceTimersByTime(2 * SWEEP_MS);
    // Single bytes are no progress.
    expect(await peer.says(data(1, text('two').subarray(2, 3)))).toEqual([]);
    vi.advanceTimersByTime(2 * SWEEP_MS);
    expect(await peer.says()).toEqual(['reset 1 cancel']);
    expect(taken).toEqual(['one']);
  });

  test('that never sends a message is reset', async () => {
    await peer.says(opened(1));
    vi.advanceTimersByTime(4 * SWEEP_MS);
    expect(await peer.says()).toEqual(['reset 1 cancel']);
  });

  test('is refused beyond 64 of one connection, until another one ends', async () => {
    const ids = Array.from({ length: 64 }, (_, i) => 1 + 2 * i);
    expect(await peer.says(...ids.map((id) => opened(id)))).toEqual([]);
    expect(await peer.says(opened(129))).toEqual(
      refused(129, 8, 'The connection has too many open streams.', unread(129)),
    );
    const other = await server.connected();
    expect(await other.says(opened(1), data(1, text('other')))).toEqual([]);
    await peer.says(reset(1));
    expect(taken).toEqual(['other']);
  });
});

describe('a server that stops', () => {
  test('ends its streams, and handles what their callers send before they know', async () => {
    await peer.says(opened(1), data(1, text('one')), opened(3));
    server.server.close();
    streams.close();
    const first = await peer.says();
    // Both cross the end of the answer: a message, and one in two parts.
    const then = await peer.says(data(1, text('two')), data(3, text('three').subarray(0, 6)));
    const last = await peer.saysAtEnd(data(3, text('three').subarray(6), END_STREAM), reset(1));
    expect(taken).toEqual(['one', 'two', 'three']);
    // The last GOAWAY comes after a time, so it may be among what was told earlier.
    expect([...first, ...then, ...last]).toEqual([
      'goaway 2147483647 none',
      ...stopped(1),
      ...stopped(3),
      'goaway 3 none',
    ]);
  });

  test('handles what a stream sends that was opened too late', async () => {
    // On a slow machine the peer's time to learn of the departure would be over before it opens the stream.
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    server.server.close();
    streams.close();
    expect(await peer.says(opened(1), data(1, text('one')))).toEqual([
      'goaway 2147483647 none',
      ...stopped(1),
    ]);
    expect(taken).toEqual(['one']);
  });

  test('answers a stream once, also if it ends badly afterwards', async () => {
    await peer.says(opened(1), opened(3));
    streams.close();
    streams.close();
    expect(
      await peer.says(data(1, text('malformed')), data(3, Buffer.from([0]), END_STREAM)),
    ).toEqual([...stopped(1), ...stopped(3)]);
    expect(await peer.says(data(1, text('more'), END_STREAM))).toEqual([]);
    expect(await peer.says(opened(5), data(5, text('five'), END_STREAM))).toEqual(stopped(5));
    expect(taken).toEqual(['five']);
  });
});
