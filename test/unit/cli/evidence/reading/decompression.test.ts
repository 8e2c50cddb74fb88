import { setTimeout as sleep } from 'node:timers/promises';
import { gzipSync, zstdCompressSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { decompressed } from '../../../../../src/cli/evidence/reading/decompression.ts';

const MIB = 2 ** 20;
const kinds = [
  { kind: 'gzip', pack: gzipSync },
  { kind: 'zstd', pack: zstdCompressSync },
] as const;

async function* inOnePiece(bytes: Buffer) {
  yield bytes;
}

test.each(kinds)('$kind is decompressed no further than it is read', async ({ kind, pack }) => {
  const whole = Buffer.alloc(96 * MIB, 'a line\n');
  const packed = pack(whole);
  expect(packed.length).toBeLessThan(MIB);
  const pieces = decompressed(inOnePiece(packed), kind);
  const { arrayBuffers } = process.memoryUsage();
  let bytes = (await pieces.next()).value?.length ?? 0;
  // Whatever the decompressor would still do by itself, it does now.
  for (let turn = 0; turn < 50; turn++) await sleep(1);
  expect(process.memoryUsage().arrayBuffers - arrayBuffers).toBeLessThan(16 * MIB);
  for await (const piece of pieces) bytes += piece.length;
  expect(bytes).toBe(whole.length);
});

test.each(kinds)(
  'all bytes of a damaged $kind before the damage are given',
  async ({ kind, pack }) => {
    const packed = pack(
      Buffer.from(Array.from({ length: 4 * MIB }, (_, i) => (i * 2_654_435_761) >>> 24)),
    );
    const whole = await bytesOf(packed, kind);
    expect(whole.failure).toBeUndefined();
    const cut = await bytesOf(packed.subarray(0, packed.length / 2), kind);
    expect(cut.failure).toBeInstanceOf(Error);
    expect(cut.length).toBeGreaterThan(0);
    expect(cut.length).toBeLessThan(whole.length);
  },
);

/** In pieces of a few bytes, as a pipe may give them. */
async function bytesOf(packed: Buffer, kind: 'gzip' | 'zstd') {
  async function* pieces() {
    for (let at = 0; at < packed.length; at += 1_000) yield packed.subarray(at, at + 1_000);
  }
  let length = 0;
  try {
    for await (const bytes of decompressed(pieces(), kind)) length += bytes.length;
    return { length, failure: undefined };
  } catch (failure) {
    return { length, failure };
  }
}
