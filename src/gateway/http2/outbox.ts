/** Frames of a connection that are written together. */
import { FRAME_HEAD_BYTES, type FrameHead, writeFrameHead } from './frames.ts';

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

  /** The payload is text with one character for each byte. */
  addText(head: FrameHead, text: string): void {
    const at = this.#reserve(FRAME_HEAD_BYTES + text.length);
    writeFrameHead(this.#bytes, at, head);
    this.#bytes.write(text, at + FRAME_HEAD_BYTES, 'latin1');
  }

  addFrame(frame: Buffer, stream: number): void {
    const at = this.#reserve(frame.length);
    this.#bytes.set(frame, at);
    this.#bytes.writeUInt32BE(stream, at + 5);
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
