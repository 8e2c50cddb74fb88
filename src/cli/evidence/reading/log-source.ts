/** One log: a file, or standard input. */
import { constants, createReadStream } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { displayName } from '../../../gateway/config/text-file.ts';
import { type Compression, compressionOf, decompressed, whyUnreadable } from './decompression.ts';
import { LineCutter } from './line-cutter.ts';

const STANDARD_INPUT = '-';
const HEAD_BYTES = 8;
const READ_BYTES = 262_144;

const REASONS: Readonly<Record<string, string>> = {
  ENOENT: 'does not exist',
  EACCES: 'cannot be read: permission denied',
  EPERM: 'cannot be read: permission denied',
  EISDIR: 'is a directory; name the files in it',
};

export interface SourceChunk {
  readonly bytes: Buffer;
  readonly isLast: boolean;
}

export class LogSource {
  readonly name: string;
  readonly #path: string;
  readonly #input: AsyncIterable<Uint8Array>;
  #cutter = new LineCutter();
  /** Undefined before the first chunk, and between the first and the second one. */
  #pieces: AsyncGenerator<Buffer> | undefined;
  #decompressed = 0;
  bytesRead = 0;
  size: number | undefined;
  cut: string | undefined;

  constructor(path: string, input: AsyncIterable<Uint8Array>) {
    this.#path = path;
    this.#input = input;
    this.name = path === STANDARD_INPUT ? 'standard input' : displayName(path);
  }

  /** Why it cannot be read, or undefined. Sets the size. */
  async problem(): Promise<string | undefined> {
    if (this.#path === STANDARD_INPUT) return undefined;
    let file: FileHandle | undefined;
    try {
      // Without O_NONBLOCK, opening a named pipe waits for a writer.
      file = await open(this.#path, constants.O_RDONLY | constants.O_NONBLOCK);
      const stat = await file.stat();
      if (stat.isDirectory()) return REASONS.EISDIR;
      this.size = stat.isFile() ? stat.size : undefined;
      if (!stat.isFile())
        return 'is not a regular file; pipe it into standard input, and name it -';
      const { buffer, bytesRead } = await file.read(Buffer.alloc(HEAD_BYTES), 0, HEAD_BYTES, 0);
      return whyUnreadable(buffer.subarray(0, bytesRead), this.name);
    } catch (error) {
      return reasonOf(error);
    } finally {
      await file?.close();
    }
  }

  /** The first chunk. Nothing else is kept until the next one is wanted, as there may be hundreds of files. */
  async first(bytes: number): Promise<SourceChunk> {
    const chunk = await this.next(bytes);
    if (chunk.isLast || this.#path === STANDARD_INPUT) return chunk;
    await this.close();
    // What was dropped could not be found again.
    if (!this.#cutter.hasDropped) {
      this.#cutter = new LineCutter();
      this.#decompressed = chunk.bytes.length;
    }
    return chunk;
  }

  /** Whole lines, at least as many bytes as that, unless the log ends. */
  async next(bytes: number): Promise<SourceChunk> {
    this.#pieces ??= this.#open(this.#decompressed);
    try {
      while (!this.#cutter.has(bytes)) {
        const { value, done } = await this.#pieces.next();
        if (done) return { bytes: this.#cutter.takeRest(), isLast: true };
        this.#decompressed += value.length;
        this.#cutter.add(value);
      }
      return { bytes: this.#cutter.take(bytes), isLast: false };
    } catch (error) {
      this.cut = reasonOf(error);
      return { bytes: this.#cutter.takeRest(), isLast: true };
    }
  }

  async close(): Promise<void> {
    const pieces = this.#pieces;
    this.#pieces = undefined;
    await pieces?.return(undefined);
  }

  async *#open(place: number): AsyncGenerator<Buffer> {
    const { compression, pieces } = await withCompression(this.#raw());
    let toSkip = place;
    for await (const piece of decompressed(pieces, compression)) {
      const skipped = Math.min(toSkip, piece.length);
      toSkip -= skipped;
      if (skipped < piece.length) yield piece.subarray(skipped);
    }
  }

  async *#raw(): AsyncGenerator<Buffer> {
    this.bytesRead = 0;
    const input =
      this.#path === STANDARD_INPUT
        ? this.#input
        : createReadStream(this.#path, { highWaterMark: READ_BYTES });
    for await (const bytes of input) {
      this.bytesRead += bytes.length;
      yield Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    }
  }
}

/** Looks at the first bytes; they may come one by one. */
async function withCompression(
  raw: AsyncGenerator<Buffer>,
): Promise<{ compression: Compression; pieces: AsyncIterable<Buffer> }> {
  let head = Buffer.alloc(0);
  while (head.length < HEAD_BYTES) {
    const { value, done } = await raw.next();
    if (done) break;
    head = Buffer.concat([head, value]);
  }
  async function* pieces() {
    try {
      if (head.length > 0) yield head;
      yield* raw;
    } finally {
      await raw.return(undefined);
    }
  }
  return { compression: compressionOf(head), pieces: pieces() };
}

function reasonOf(error: unknown): string {
  const { code = '', message } = error as NodeJS.ErrnoException;
  return REASONS[code] ?? message;
}
