/** Peers that let the server send a few bytes at a time. */
import { afterEach, beforeEach, expect, test } from 'vitest';
import {
  answerAtEnd,
  asked,
  INITIAL_WINDOW_SIZE,
  type PeerServer,
  settings,
  startPeerServer,
  widened,
} from '../../../support/http2-peer.ts';

const BYTES = 20_000;

let started: AsyncDisposableStack;
let server: PeerServer;
beforeEach(async () => {
  started = new AsyncDisposableStack();
  server = await startPeerServer(started, answerAtEnd('a'.repeat(BYTES)));
});
afterEach(() => started.disposeAsync());

test('credit for single bytes is no flood, because each lets one byte of an answer go', async () => {
  const peer = await server.connected();
  await peer.says(settings([INITIAL_WINDOW_SIZE, 1]), asked(1));
  let count = 1;
  while (count < BYTES) {
    const frames = Array.from({ length: Math.min(500, BYTES - count) }, () => widened(1, 1));
    count += frames.length;
    await peer.says(...frames);
    expect(peer.isClosed).toBe(false);
  }
  expect(
    peer.received.filter(({ type, payload }) => type === 0 && payload.length === 1),
  ).toHaveLength(BYTES);
});

test('credit for streams that wait for nothing is a flood', async () => {
  const peer = await server.connected();
  const frames = Array.from({ length: 20_000 }, () => widened(0, 1));
  expect(await peer.saysAtEnd(...frames)).toEqual([`goaway 0 enhanceYourCalm`]);
});
