/** Frames of gRPC on a stream of several messages. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { FrameReader, RefusedFrame } from '../../../../src/gateway/protobuf/frames.ts';
import { framed } from '../../../../src/gateway/protobuf/writer.ts';
import { frame } from '../../../support/grpc-frames.ts';

const MAX_BYTES = 100;

function read(chunks: readonly Uint8Array[]): Buffer[] {
  const reader = new FrameReader(MAX_BYTES);
  return chunks.flatMap((chunk) => [...reader.add(Buffer.from(chunk))]);
}

test('a message that is sent has the frame that a message must have', () => {
  for (const length of [0, 1, 255, 256, 65_536]) {
    const message = Buffer.alloc(length, 0xe9);
    const sent = Buffer.from(framed(message.toString('latin1')), 'latin1');
    expect(sent.equals(frame(message))).toBe(true);
  }
});

test('messages are complete whatever chunks they arrive in', () => {
  const messages = fc.array(fc.uint8Array({ maxLength: MAX_BYTES }), { maxLength: 8 });
  const cuts = fc.array(fc.nat(8 * (MAX_BYTES + 5)), { maxLength: 20 });
  fc.assert(
    fc.property(messages, cuts, (sent, at) => {
      const bytes = Buffer.concat(sent.map((message) => frame(message)));
      const ends = [...new Set(at), bytes.length]
        .filter((end) => end <= bytes.length)
        .sort((a, b) => a - b);
      const chunks = ends.map((end, i) => bytes.subarray(ends[i - 1] ?? 0, end));
      expect(read(chunks)).toEqual(sent.map((message) => Buffer.from(message)));
    }),
  );
});

test('a message stays what it was when more bytes arrive', () => {
  const reader = new FrameReader(MAX_BYTES);
  const messages = [
    ...reader.add(Buffer.concat([frame(Buffer.from('one')), Buffer.from([0])])),
    ...reader.add(Buffer.from([0, 0, 0, 3])),
    ...reader.add(Buffer.from('two')),
  ];
  expect(messages.map(String)).toEqual(['one', 'two']);
});

test('messages before a refused one are read', () => {
  const reader = new FrameReader(MAX_BYTES);
  const compressed = frame(Buffer.from('b'), { compressed: 1 });
  const messages = reader.add(Buffer.concat([frame(Buffer.from('a')), compressed]));
  expect(String(messages.next().value)).toBe('a');
  expect(() => messages.next()).toThrow(RefusedFrame);
});

test('a message that is too long is refused as soon as its head is there', () => {
  const head = frame(Buffer.alloc(0), { length: MAX_BYTES + 1 });
  expect(() => read([head])).toThrow('a message has 101 bytes, the maximum is 100');
  expect(read([frame(Buffer.alloc(MAX_BYTES))])).toEqual([Buffer.alloc(MAX_BYTES)]);
});
