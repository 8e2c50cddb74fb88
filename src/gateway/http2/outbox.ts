/** Frames of a connection that are written together. */
import { FRAME_HEAD_BYTES, FrameType } from './frames.ts';

/** Every frame is shorter. */
const SIZE = 16_384;
const NO_BYTES: Buffer = Buffer.alloc(0);

/** Between two writes connections have no buffer, so that idle ones take no memory. */
const free: Buffer[] = [];
const MAX_FREE = 64;

export class Outbox {
  #bytes = NO_BYTES;
  #length = 0;
  #full: Buffer[] = [];

  get isEmpty(): boolean {
    return this.#length === 0;
  }

  /** `stream` is 0 for the connection. */
  addFrame(frame: Buffer, stream = 0): void {
    const at = this.#reserve(frame.length);
    this.#bytes.set(frame, at);
    this.#bytes.writeUInt32BE(stream, at + 5);
  }

  /** DATA. The text has one character for each byte. */
  addText(text: string, stream: number): void {
    const at = this.#begin(FrameType.data, stream, text.length);
    this.#bytes.write(text, at, 'latin1');
  }

  /** A frame whose payload is numbers of 32 bits. */
  addNumbers(type: number, stream: number, ...numbers: number[]): void {
    let at = this.#begin(type, stream, 4 * numbers.length);
    for (const number of numbers) at = this.#bytes.writeUInt32BE(number, at);
  }

  /** A copy of all that was added. */
  take(): Buffer {
    const taken = Buffer.concat([...this.#full, this.#bytes.subarray(0, this.#length)]);
    if (free.length < MAX_FREE) free.push(this.#bytes);
    this.#bytes = NO_BYTES;
    this.#length = 0;
    this.#full = [];
    return taken;
  }

  /** Returns where the payload begins. */
  #begin(type: number, stream: number, length: number): number {
    const at = this.#reserve(FRAME_HEAD_BYTES + length);
    this.#bytes.writeUInt32BE((length << 8) | type, at);
    this.#bytes[at + 4] = 0;
    return this.#bytes.writeUInt32BE(stream, at + 5);
  }

  /** Returns where the frame begins. */
  #reserve(size: number): number {
    if (this.#bytes.length - this.#length < size) {
      if (this.#length > 0) this.#full.push(this.#bytes.subarray(0, this.#length));
      this.#bytes = free.pop() ?? Buffer.allocUnsafeSlow(SIZE);
      this.#length = 0;
    }
    const at = this.#length;
    this.#length += size;
    return at;
  }
}
