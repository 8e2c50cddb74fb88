import { promisify } from 'node:util';
import { gunzip, inflate } from 'node:zlib';
import { appended, HEAD_BYTES, UNCOMPRESSED } from '../../protobuf/frames.ts';
import {
  type GrpcStatus,
  MALFORMED,
  NOT_ONE_MESSAGE,
  TOO_LONG,
  UNKNOWN_ENCODING,
} from './status.ts';

const COMPRESSED = 1;
const NO_BYTES = Buffer.alloc(0);
const unpackers = new Map([
  ['gzip', promisify(gunzip)],
  ['deflate', promisify(inflate)],
]);

/** Collects the bytes of a request, which must be one message. */
export class MessageFrame {
  readonly #maxBytes: number;
  #buffer: Buffer = NO_BYTES;
  #length = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /**
   * Returns what is wrong with the bytes so far. No further bytes may be added then. A chunk is copied unless it is the
   * first and the last one, because it can be a small part of what was read from the connection.
   */
  add(chunk: Buffer, isLast = false): GrpcStatus | undefined {
    if (this.#length > 0) this.#buffer = appended(this.#buffer, this.#length, chunk);
    else this.#buffer = isLast ? chunk : Buffer.from(chunk);
    this.#length += chunk.length;
    if (this.#length < HEAD_BYTES) return undefined;
    const announced = this.#buffer.readUInt32BE(1);
    if (announced > this.#maxBytes) return TOO_LONG;
    return this.#length > HEAD_BYTES + announced ? NOT_ONE_MESSAGE : undefined;
  }

  message(encoding: string | undefined): Buffer | GrpcStatus | Promise<Buffer | GrpcStatus> {
    const bytes = this.#buffer.subarray(0, this.#length);
    if (bytes.length < HEAD_BYTES) return NOT_ONE_MESSAGE;
    if (bytes.length !== HEAD_BYTES + bytes.readUInt32BE(1)) return NOT_ONE_MESSAGE;
    const message = bytes.subarray(HEAD_BYTES);
    if (bytes[0] === UNCOMPRESSED) return message;
    return bytes[0] === COMPRESSED ? this.#unpack(message, encoding) : MALFORMED;
  }

  async #unpack(message: Buffer, encoding = 'identity'): Promise<Buffer | GrpcStatus> {
    const unpack = unpackers.get(encoding);
    if (unpack === undefined) return encoding === 'identity' ? MALFORMED : UNKNOWN_ENCODING;
    try {
      return await unpack(message, { maxOutputLength: this.#maxBytes });
    } catch (error) {
      return (error as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE'
        ? TOO_LONG
        : MALFORMED;
    }
  }
}
