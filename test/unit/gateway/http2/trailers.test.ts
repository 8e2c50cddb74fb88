/** Header blocks behind the body of a request (RFC 9113, section 8.1). */
import { beforeEach, expect, test } from 'vitest';
import { END_STREAM, frame, Type } from '../../../support/http2-frames.ts';
import {
  answerOn,
  asked,
  block,
  data,
  END_HEADERS,
  opened,
  type RawPeer,
  startPeerServer,
} from '../../../support/http2-peer.ts';

const FIELDS = block([['x-checksum', '1']]);

let peer: RawPeer;
beforeEach(async () => {
  peer = await (await startPeerServer()).connected();
});

test('end a request', async () => {
  const trailers = frame(Type.headers, END_HEADERS | END_STREAM, 1, FIELDS);
  expect(await peer.says(opened(1), data(1, 'a'), trailers)).toEqual(answerOn(1));
});

test('that do not end the request reset it, and the next one is answered', async () => {
  const more = frame(Type.headers, END_HEADERS, 1, FIELDS);
  const end = data(1, 'b', END_STREAM);
  expect(await peer.says(opened(1), data(1, 'a'), more, end, asked(3))).toEqual([
    'reset 1 protocol',
    ...answerOn(3),
  ]);
});
