/** gRPC frames a message with a flag for compression and four bytes of length (PROTOCOL-HTTP2.md of github.com/grpc/grpc). */
export const HEAD_BYTES = 5;
export const UNCOMPRESSED = 0;
const NO_BYTES = Buffer.alloc(0);

/** The bytes are no frames, or their messages are not accepted. The stream cannot be read any further. */
export class RefusedFrame extends Error {
  override readonly name = 'RefusedFrame';
}

/** Takes the messages out of a stream of frames that are not compressed. Between two chunks it holds less than one message. */
export class FrameReader {
  readonly #maxBytes: number;
  /** Starts with the bytes of the unfinished frame. */
  #buffer: Buffer = NO_BYTES;
  #length = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** Bytes of the message that is not complete. */
  get heldBytes(): number {
    return this.#length;
  }

  /** The messages that the chunk completes. Throws RefusedFrame. */
  *add(chunk: Buffer): Generator<Buffer, void, undefined> {
    let isCopied = this.#length > 0;
    this.#buffer = isCopied ? appended(this.#buffer, this.#length, chunk) : chunk;
    this.#length += chunk.length;
    for (let end = this.#endOfFrame(); end <= this.#length; end = this.#endOfFrame()) {
      const message = this.#buffer.subarray(HEAD_BYTES, end);
      this.#buffer = this.#buffer.subarray(end);
      this.#length -= end;
      isCopied = false;
      yield message;
    }
    // The chunk can be a small part of what was read from the connection.
    if (!isCopied) this.#buffer = Buffer.from(this.#buffer.subarray(0, this.#length));
  }

  /** Infinity while its head is not complete. */
  #endOfFrame(): number {
    if (this.#length < HEAD_BYTES) return Number.POSITIVE_INFINITY;
    if (this.#buffer[0] !== UNCOMPRESSED) throw new RefusedFrame('a message is compressed');
    const announced = this.#buffer.readUInt32BE(1);
    if (announced <= this.#maxBytes) return HEAD_BYTES + announced;
    throw new RefusedFrame(`a message has ${announced} bytes, the maximum is ${this.#maxBytes}`);
  }
}

/**
 * The buffer with the chunk behind its first `length` bytes. It is doubled if it is full, so that single bytes cost no more
 * than long chunks.
 */
export function appended(buffer: Buffer, length: number, chunk: Buffer): Buffer {
  const needed = length + chunk.length;
  let roomy = buffer;
  if (needed > buffer.length) {
    roomy = Buffer.allocUnsafe(2 * needed);
    buffer.copy(roomy, 0, 0, length);
  }
  chunk.copy(roomy, length);
  return roomy;
}
