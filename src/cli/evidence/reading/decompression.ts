/** Decompresses logs. The first bytes say how a log is compressed, whatever its name is. */
import type { Transform } from 'node:stream';
import * as zlib from 'node:zlib';

export type Compression = 'none' | 'gzip' | 'zstd';

const MAGIC: readonly (readonly [string, Compression])[] = [
  ['1f8b', 'gzip'],
  ['28b52ffd', 'zstd'],
];
/** Archives and compressions that are not read, and a command that unpacks each to standard output. */
const OTHERS: readonly (readonly [string, string, string])[] = [
  ['425a68', 'bzip2', 'bzcat'],
  ['fd377a585a00', 'xz', 'xzcat'],
  ['504b0304', 'zip', 'unzip -p'],
  ['04224d18', 'lz4', 'lz4cat'],
];
const CHUNK_BYTES = 262_144;

export function compressionOf(head: Buffer): Compression {
  const hex = head.toString('hex');
  return MAGIC.find(([magic]) => hex.startsWith(magic))?.[1] ?? 'none';
}

export function whyUnreadable(head: Buffer, name: string): string | undefined {
  const hex = head.toString('hex');
  const other = OTHERS.find(([magic]) => hex.startsWith(magic));
  if (other !== undefined) {
    const [, kind, command] = other;
    return `is compressed with ${kind}; decompress it first: ${command} ${name} | headgate ... -`;
  }
  if (hex.startsWith('fffe') || hex.startsWith('feff')) {
    return 'is UTF-16; convert it to UTF-8 first: iconv -f UTF-16 -t UTF-8';
  }
  return undefined;
}

/**
 * The decompressed bytes. If the input is cut short or damaged, it gives everything before that, and then throws: a
 * stream that is piped would lose what nobody has read yet. The decompressor rests until its output was taken, because a
 * few bytes may hold a gigabyte.
 */
export async function* decompressed(
  pieces: AsyncIterable<Buffer>,
  compression: Compression,
): AsyncGenerator<Buffer> {
  if (compression === 'none') {
    yield* pieces;
    return;
  }
  const stream = decompressor(compression);
  const output: Buffer[] = [];
  let failure: Error | undefined;
  let isTaken = true;
  let wake = () => {};
  stream.on('data', (bytes: Buffer) => {
    output.push(bytes);
    stream.pause();
    wake();
  });
  stream.on('error', (error) => {
    failure = error;
  });
  stream.on('close', () => wake());
  const hasOutput = () => output.length > 0 || stream.readableLength > 0;
  const isIdle = () => (isTaken || stream.closed) && !hasOutput();
  async function* outputOf(piece?: Buffer): AsyncGenerator<Buffer> {
    isTaken = false;
    if (piece === undefined) stream.end();
    else {
      stream.write(piece, (error) => {
        isTaken = !error;
        wake();
      });
    }
    while (!isIdle()) {
      const more = new Promise<void>((resolve) => {
        wake = resolve;
      });
      stream.resume();
      if (output.length === 0) await more;
      yield* output.splice(0);
    }
    if (failure !== undefined) throw failure;
  }
  try {
    for await (const piece of pieces) yield* outputOf(piece);
    yield* outputOf();
  } finally {
    stream.destroy();
  }
}

function decompressor(compression: 'gzip' | 'zstd'): Transform {
  if (compression === 'gzip') return zlib.createGunzip({ chunkSize: CHUNK_BYTES });
  // Node 22.12 to 22.14 lack it.
  if (zlib.createZstdDecompress === undefined) {
    throw new Error('this Node cannot decompress zstd: update it to 22.15 or 24');
  }
  return zlib.createZstdDecompress({ chunkSize: CHUNK_BYTES });
}
