/** The table with which a peer compresses its headers has the size that it begins with, because no setting changes it. */
import { expect, test } from 'vitest';
import { END_STREAM, frame, Type } from '../../../support/http2-frames.ts';
import {
  answerOn,
  block,
  END_HEADERS,
  REQUEST,
  startPeerServer,
} from '../../../support/http2-peer.ts';

/** Sizes at the beginning of a block: https://www.rfc-editor.org/rfc/rfc7541#section-6.3 */
const SIZE_4096 = Buffer.from([0x3f, 0xe1, 0x1f]);
const SIZE_4097 = Buffer.from([0x3f, 0xe2, 0x1f]);

const sized = (stream: number, size: Buffer) =>
  frame(Type.headers, END_HEADERS | END_STREAM, stream, Buffer.concat([size, block(REQUEST)]));

test('a peer that takes a larger table is disconnected', async () => {
  const peer = await (await startPeerServer()).connected();
  expect(await peer.says(sized(1, SIZE_4096))).toEqual(answerOn(1));
  expect(await peer.saysAtEnd(sized(3, SIZE_4097))).toEqual(['goaway 1 compression']);
});
