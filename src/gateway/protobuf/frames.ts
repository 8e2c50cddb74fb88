/** gRPC frames a message with a flag for compression and four bytes of length (PROTOCOL-HTTP2.md of github.com/grpc/grpc). */
export const HEAD_BYTES = 5;
export const UNCOMPRESSED = 0;
const NO_BYTES = Buffer.alloc(0);

/** The bytes are no frames, or their messages are not accepted. The stream cannot be read any further. */
export class RefusedFrame extends Error {
  override readonly name = 'RefusedFrame';
}

/** Takes the messages out of a stream of frames that are not compressed. It holds less than two messages. */
export class FrameReader {
  readonly #maxBytes: number;
  /** Starts with the bytes of the unfinished frame. */
  #buffer: Buffer = NO_BYTES;
  #length = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** The messages that the chunk completes. Throws RefusedFrame. */
  *add(chunk: Buffer): Generator<Buffer, void, undefined> {
    this.#append(chunk);
    for (let end = this.#endOfFrame(); end <= this.#length; end = this.#endOfFrame()) {
      const message = this.#buffer.subarray(HEAD_BYTES, end);
      this.#buffer = this.#buffer.subarray(end);
      this.#length -= end;
      yield message;
    }
  }

  /** Infinity while its head is not complete. */
  #endOfFrame(): number {
    if (this.#length < HEAD_BYTES) return Number.POSITIVE_INFINITY;
    if (this.#buffer[0] !== UNCOMPRESSED) throw new RefusedFrame('a message is compressed');
    const announced = this.#buffer.readUInt32BE(1);
    if (announced <= this.#maxBytes) return HEAD_BYTES + announced;
    throw new RefusedFrame(`a message has ${announced} bytes, the maximum is ${this.#maxBytes}`);
  }

  /** Doubles the buffer if it is full, so that single bytes cost no more than long chunks. */
  #append(chunk: Buffer): void {
    const needed = this.#length + chunk.length;
    if (this.#length === 0) this.#buffer = chunk;
    else {
      if (needed > this.#buffer.length) {
        const larger = Buffer.allocUnsafe(2 * needed);
        this.#buffer.copy(larger, 0, 0, this.#length);
        this.#buffer = larger;
      }
      chunk.copy(this.#buffer, this.#length);
    }
    this.#length = needed;
  }
}
