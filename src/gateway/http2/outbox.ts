/** Frames of a connection that are written together. */
import { FRAME_HEAD_BYTES, type FrameHead, writeFrameHead, writeUint32 } from './frames.ts';

/** Every part is shorter. */
const SIZE = 16_384;
const NO_BYTES: Buffer = Buffer.alloc(0);

/** Between two writes connections have no buffer, so that idle ones take no memory. */
const free: Buffer[] = [];
const MAX_FREE = 64;

export class Outbox {
  #bytes: Buffer = NO_BYTES;
  #length = 0;
  #full: Buffer[] = [];

  get isEmpty(): boolean {
    return this.#length === 0;
  }

  /** A frame whose payload is text with one character for each byte. */
  addText(head: FrameHead, text: string): void {
    const at = this.#reserve(FRAME_HEAD_BYTES + text.length);
    writeFrameHead(this.#bytes, at, head);
    this.#bytes.write(text, at + FRAME_HEAD_BYTES, 'latin1');
  }

  /** A frame whose payload is one number of 32 bits, or several. */
  addNumbers(head: FrameHead, numbers: readonly number[]): void {
    let at = this.#reserve(FRAME_HEAD_BYTES + head.length);
    writeFrameHead(this.#bytes, at, head);
    at += FRAME_HEAD_BYTES;
    for (const number of numbers) {
      writeUint32(this.#bytes, at, number);
      at += 4;
    }
  }

  /** A frame with its payload, which gets the number of its stream. */
  addFrame(frame: Buffer, stream: number): void {
    const at = this.#reserve(frame.length);
    this.#bytes.set(frame, at);
    writeUint32(this.#bytes, at + 5, stream);
  }

  addBytes(head: FrameHead, payload: Buffer): void {
    const at = this.#reserve(FRAME_HEAD_BYTES + payload.length);
    writeFrameHead(this.#bytes, at, head);
    this.#bytes.set(payload, at + FRAME_HEAD_BYTES);
  }

  /** A copy of all that was added. */
  take(): Buffer {
    const last = this.#bytes.subarray(0, this.#length);
    const taken =
      this.#full.length === 0 ? Buffer.from(last) : Buffer.concat([...this.#full, last]);
    if (free.length < MAX_FREE) free.push(this.#bytes);
    this.#bytes = NO_BYTES;
    this.#length = 0;
    this.#full = [];
    return taken;
  }

  /** Returns where the part begins. */
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
