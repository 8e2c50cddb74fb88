/** Takes the frames of a server out of the bytes that it sends. */

export interface ReceivedFrame {
  readonly type: number;
  readonly flags: number;
  readonly stream: number;
  readonly payload: Buffer;
}

const HEAD = 9;
/** A strict client allows no longer payload. */
const LONGEST = 16_384;

export class ReceivedFrames {
  #bytes: Buffer = Buffer.alloc(0);

  /** Returns the frames that are complete, and what is wrong behind them. */
  add(chunk: Buffer): readonly (ReceivedFrame | string)[] {
    this.#bytes = Buffer.concat([this.#bytes, chunk]);
    const found: (ReceivedFrame | string)[] = [];
    while (this.#bytes.length >= HEAD) {
      const length = this.#bytes.readUIntBE(0, 3);
      if (length > LONGEST) return [...found, `a frame of ${length} bytes`];
      if (this.#bytes.length < HEAD + length) break;
      const [type = 0, flags = 0] = this.#bytes.subarray(3, 5);
      const stream = this.#bytes.readUInt32BE(5);
      found.push({ type, flags, stream, payload: this.#bytes.subarray(HEAD, HEAD + length) });
      this.#bytes = this.#bytes.subarray(HEAD + length);
    }
    return found;
  }
}
