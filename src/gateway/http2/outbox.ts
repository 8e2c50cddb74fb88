/** Frames of a connection that are written together. */
import { FRAME_HEAD_BYTES, FrameType, frameOf } from './frames.ts';

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

  /** The payload of a DATA frame is text with one character for each byte. */
  addText(text: string, stream: number): void {
    const at = this.#reserve(FRAME_HEAD_BYTES + text.length);
    this.#bytes.writeUInt32BE((text.length << 8) | FrameType.data, at);
    this.#bytes[at + 4] = 0;
    this.#bytes.writeUInt32BE(stream, at + 5);
    this.#bytes.write(text, at + FRAME_HEAD_BYTES, 'latin1');
  }

  reset(stream: number, code: number): void {
    this.addFrame(frameOf(FrameType.reset, 0, uint32(code)), stream);
  }

  /** `stream` is 0 for the connection. */
  credit(stream: number, bytes: number): void {
    this.addFrame(frameOf(FrameType.windowUpdate, 0, uint32(bytes)), stream);
  }

  /** Later streams than `last` are not answered. */
  goaway(last: number, code: number): void {
    this.addFrame(frameOf(FrameType.goaway, 0, Buffer.concat([uint32(last), uint32(code)])));
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

function uint32(value: number): Buffer {
  const bytes = Buffer.allocUnsafe(4);
  bytes.writeUInt32BE(value);
  return bytes;
}
