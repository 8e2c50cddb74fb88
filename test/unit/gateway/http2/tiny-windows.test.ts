/** Peers that let the server send a few bytes at a time. */
import { beforeEach, expect, test } from 'vitest';
import { CLOSE_ABOVE_BYTES } from '../../../../src/gateway/http2/limits.ts';
import {
  answerAtEnd,
  asked,
  INITIAL_WINDOW_SIZE,
  type PeerServer,
  reset,
  settings,
  startPeerServer,
  widened,
} from '../../../support/http2-peer.ts';

const BYTES = 20_000;

let server: PeerServer;
beforeEach(async () => {
  server = await startPeerServer(answerAtEnd('a'.repeat(BYTES)));
});

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

test('answers that were held back and then reset no longer count as waiting', async () => {
  const held = await startPeerServer(answerAtEnd('a'.repeat(CLOSE_ABOVE_BYTES / 8)));
  const peer = await held.connected();
  await peer.says(settings([INITIAL_WINDOW_SIZE, 0]));
  for (let id = 1; id < 40; id += 2) await peer.says(asked(id), reset(id));
  expect(await peer.says(asked(41), widened(41, 1))).toEqual([
    'headers 41 :status=200',
    'data 41 a',
  ]);
});

test('credit for streams that wait for nothing is a flood', async () => {
  const peer = await server.connected();
  const frames = Array.from({ length: 20_000 }, () => widened(0, 1));
  expect(await peer.saysAtEnd(...frames)).toEqual([`goaway 0 enhanceYourCalm`]);
});
