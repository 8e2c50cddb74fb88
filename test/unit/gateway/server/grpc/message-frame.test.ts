/** The message of a gRPC request, in chunks of any size. */
import { deflateSync, gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { MessageFrame } from '../../../../../src/gateway/server/grpc/message-frame.ts';
import {
  MALFORMED,
  NOT_ONE_MESSAGE,
  TOO_LONG,
  UNKNOWN_ENCODING,
} from '../../../../../src/gateway/server/grpc/status.ts';
import { frame } from '../../../../support/grpc-frames.ts';

const MAX_BYTES = 100;

/** What is made of these chunks. */
async function readFrom(chunks: readonly Uint8Array[], encoding?: string) {
  const frame = new MessageFrame(MAX_BYTES);
  for (const chunk of chunks) {
    const mistake = frame.add(Buffer.from(chunk));
    if (mistake !== undefined) return mistake;
  }
  return frame.message(encoding);
}

const compressed = (message: Buffer) => frame(message, { compressed: 1 });

test('a message is complete whatever chunks it arrives in', async () => {
  const cuts = fc.array(fc.nat(MAX_BYTES + 5), { maxLength: 10 });
  await fc.assert(
    fc.asyncProperty(fc.uint8Array({ maxLength: MAX_BYTES }), cuts, async (message, at) => {
      const bytes = frame(message);
      const ends = [...new Set(at), bytes.length].sort((a, b) => a - b);
      const chunks = ends.map((end, i) => bytes.subarray(ends[i - 1] ?? 0, end));
      expect(await readFrom(chunks)).toEqual(Buffer.from(message));
    }),
  );
});

test('single bytes make a message', async () => {
  const message = Buffer.alloc(MAX_BYTES, 'x');
  const bytes = Array.from(frame(message), (byte) => Buffer.from([byte]));
  expect(await readFrom(bytes)).toEqual(message);
});

describe('is refused', () => {
  test('without bytes, without a whole head, or without the whole message', async () => {
    const bytes = frame(Buffer.from('abc'));
    for (let length = 0; length < bytes.length; length++) {
      expect(await readFrom([bytes.subarray(0, length)])).toBe(NOT_ONE_MESSAGE);
    }
  });

  test('as soon as more follows than the message', async () => {
    const incoming = new MessageFrame(MAX_BYTES);
    expect(incoming.add(frame(Buffer.from('abc')))).toBeUndefined();
    expect(incoming.add(Buffer.from([0]))).toBe(NOT_ONE_MESSAGE);
  });

  test('as soon as it announces too many bytes', () => {
    const frame = new MessageFrame(MAX_BYTES);
    expect(frame.add(Buffer.from([0, 0, 0, 0]))).toBeUndefined();
    expect(frame.add(Buffer.from([MAX_BYTES + 1]))).toBe(TOO_LONG);
  });

  test('with an unknown flag', async () => {
    const bytes = frame(Buffer.from('abc'), { compressed: 2 });
    expect(await readFrom([bytes])).toBe(MALFORMED);
  });
});

describe('a compressed message', () => {
  const message = Buffer.from('a message');

  test.each([
    ['gzip', gzipSync],
    ['deflate', deflateSync],
  ])('is unpacked: %s', async (encoding, pack) => {
    expect(await readFrom([compressed(pack(message))], encoding)).toEqual(message);
  });

  test('is refused in another encoding, or in none', async () => {
    expect(await readFrom([compressed(message)], 'br')).toBe(UNKNOWN_ENCODING);
    expect(await readFrom([compressed(message)], undefined)).toBe(MALFORMED);
  });

  test('is refused if it is not compressed', async () => {
    expect(await readFrom([compressed(message)], 'gzip')).toBe(MALFORMED);
  });

  test('is refused if it unpacks to too many bytes', async () => {
    const packed = gzipSync(Buffer.alloc(MAX_BYTES + 1));
    expect(packed.length).toBeLessThan(MAX_BYTES);
    expect(await readFrom([compressed(packed)], 'gzip')).toBe(TOO_LONG);
  });
});
