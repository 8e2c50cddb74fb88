/** The end of a connection: GOAWAY in two steps (RFC 9113, section 6.8), and that nothing that was sent is lost. */
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { Http2Stream } from '../../../../src/gateway/http2/stream.ts';
import { ACK, END_STREAM, frame, START, Type } from '../../../support/http2-frames.ts';
import {
  answerAtEnd,
  answerOn,
  asked,
  data,
  HEAD,
  INITIAL_WINDOW_SIZE,
  opened,
  type PeerServer,
  type RawPeer,
  settings,
  startPeerServer,
  TRAILERS,
  widened,
} from '../../../support/http2-peer.ts';

let server: PeerServer;
let peer: RawPeer;
beforeEach(async () => {
  server = await startPeerServer();
  peer = await server.connected();
  await peer.says();
});
afterEach(() => {
  vi.useRealTimers();
  expect(server.faults).toEqual([]);
});

const FIRST = 'goaway 2147483647 none';
/** Answers the ping of the server that came with the first GOAWAY. */
async function pong(): Promise<void> {
  const ping = () => peer.received.find(({ type, flags }) => type === Type.ping && flags === 0);
  await peer.until(() => ping() !== undefined);
  peer.send(frame(Type.ping, ACK, 0, ping()?.payload));
}

test('is announced, then settled after a round trip', async () => {
  server.server.close();
  await peer.until(() => peer.received.some(({ type }) => type === Type.goaway));
  expect(peer.news()).toEqual([FIRST]);
  await pong();
  await peer.until(() => peer.isClosed);
  expect(peer.news()).toEqual(['goaway 0 none']);
});

test('answers what was sent before the peer read the first GOAWAY', async () => {
  server.server.close();
  // It crosses the first GOAWAY.
  expect(await peer.says(asked(1), opened(3))).toEqual([FIRST, ...answerOn(1)]);
  await pong();
  expect(await peer.says(data(3, 'x'))).toEqual(['goaway 3 none']);
  expect(await peer.saysAtEnd(data(3, 'y', END_STREAM))).toEqual(answerOn(3));
});

test('refuses what is sent after the second GOAWAY, and goes on with the rest', async () => {
  await peer.says(opened(1));
  server.server.close();
  await pong();
  await peer.until(() => peer.received.filter(({ type }) => type === Type.goaway).length === 2);
  peer.news();
  expect(await peer.says(asked(3))).toEqual(['reset 3 refusedStream']);
  expect(await peer.saysAtEnd(data(1, '', END_STREAM))).toEqual(answerOn(1));
});

test('is settled without an answer to the ping, too', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  server.server.close();
  await peer.until(() => peer.received.some(({ type }) => type === Type.goaway));
  vi.advanceTimersByTime(249);
  expect(await peer.says(asked(1))).toEqual([FIRST, ...answerOn(1)]);
  vi.advanceTimersByTime(1);
  await peer.until(() => peer.isClosed);
  expect(peer.news()).toEqual(['goaway 1 none']);
});

test('waits for answers that the window holds back', async () => {
  await peer.says(settings([INITIAL_WINDOW_SIZE, 2]), asked(1));
  server.server.close();
  await pong();
  await peer.says();
  expect(peer.isClosed).toBe(false);
  expect(await peer.saysAtEnd(widened(1, 3))).toEqual(answerOn(1, 'llo').slice(1));
});

test('of a peer that reads slowly loses no byte', async () => {
  const TEXT = 'y'.repeat(500_000);
  const other = await startPeerServer(answerAtEnd(TEXT));
  const slow = await other.connected();
  await slow.says(settings([INITIAL_WINDOW_SIZE, 2 ** 31 - 1]), widened(0, 2 ** 30));
  slow.socket.pause();
  slow.send(...Array.from({ length: 20 }, (_, i) => asked(2 * i + 1)));
  while ((other.accepted[0]?.writableLength ?? 0) === 0) await new Promise(setImmediate);
  other.server.close();
  slow.socket.resume();
  await slow.until(() => slow.isClosed);
  const says = slow.news();
  expect(says.filter((each) => each.endsWith('grpc-status=0, end'))).toHaveLength(20);
  const received = slow.received.filter(({ type }) => type === Type.data);
  expect(received.reduce((sum, { payload }) => sum + payload.length, 0)).toBe(20 * TEXT.length);
});

test('reads the end of a peer from which it had stopped reading', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  const [socket] = server.accepted;
  socket?.pause();
  server.server.close();
  vi.advanceTimersByTime(250);
  expect(socket?.isPaused()).toBe(false);
  await peer.until(() => peer.isClosed);
});

test('answers a request whose preface was on its way, too', async () => {
  const late = await server.silent();
  while (server.accepted.length < 2) await new Promise(setImmediate);
  server.server.close();
  expect(await late.saysAtEnd(START, asked(1))).toEqual([FIRST, ...answerOn(1), 'goaway 1 none']);
});

test('closes a connection that sends nothing', async () => {
  const silent = await server.silent();
  while (server.accepted.length < 2) await new Promise(setImmediate);
  server.server.close();
  await silent.until(() => silent.isClosed);
  expect(silent.news()).toEqual([FIRST, 'goaway 0 none']);
});

test('a peer that goes on sending after an error still reads the GOAWAY', async () => {
  peer.send(data(1, 'x'));
  for (let i = 0; i < 200; i++) {
    peer.socket.write(Buffer.alloc(16_384));
    await new Promise(setImmediate);
  }
  await peer.until(() => peer.isClosed);
  expect(peer.news()).toEqual(['goaway 0 protocol']);
});

test('a peer that does not close its side after an error is disconnected after a second', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  peer.socket.removeAllListeners('end');
  peer.send(data(1, 'x'));
  await peer.until(() => peer.received.some(({ type }) => type === Type.goaway));
  vi.advanceTimersByTime(999);
  expect(server.accepted[0]?.destroyed).toBe(false);
  vi.advanceTimersByTime(1);
  expect(server.accepted[0]?.destroyed).toBe(true);
});

test('a peer that disconnects ends its streams, each once', async () => {
  const closed: number[] = [];
  const streams: Http2Stream[] = [];
  const other = await startPeerServer((stream) => {
    const index = streams.push(stream) - 1;
    stream.listener = { onData() {}, onClosed: () => closed.push(index) };
  });
  for (const end of ['end', 'destroy', 'resetAndDestroy'] as const) {
    streams.length = 0;
    closed.length = 0;
    const gone = await other.connected();
    await gone.says(opened(1), asked(3));
    const socket = other.accepted.at(-1);
    gone.socket[end]();
    await gone.until(() => closed.length === 2);
    expect(socket?.destroyed).toBe(true);
    expect(closed).toEqual([0, 1]);
    expect(streams.map(({ isGone }) => isGone)).toEqual([true, true]);
    streams[0]?.respond(HEAD);
    streams[0]?.end(TRAILERS);
  }
  expect(other.faults).toEqual([]);
});
