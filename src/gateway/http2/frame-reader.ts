/** Takes frames out of the bytes of a connection, however the bytes arrive. */
import {
  demand,
  ErrorCode,
  FRAME_HEAD_BYTES,
  type Frame,
  MAX_PAYLOAD_BYTES,
  readUint31,
} from './frames.ts';

const NO_BYTES = Buffer.alloc(0);

/** What a client sends first: https://www.rfc-editor.org/rfc/rfc9113#section-3.4 */
const PREFACE = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n');

/**
 * A frame that a chunk holds completely is not copied. The bytes of one that began in an earlier chunk are copied once,
 * so that no chunk is kept.
 */
export class FrameReader {
  readonly #onFrame: (frame: Frame) => void;
  readonly #frame: Frame = { type: 0, flags: 0, stream: 0, payload: NO_BYTES };
  /** What must arrive before the first frame. */
  #preface: Buffer = PREFACE;
  /** The frame that has begun, and how much of it has arrived. */
  #begun: Buffer = NO_BYTES;
  #arrived = 0;
  #isStopped = false;

  constructor(onFrame: (frame: Frame) => void) {
    this.#onFrame = onFrame;
  }

  get isInsideFrame(): boolean {
    return this.#arrived > 0 || this.#preface.length > 0;
  }

  /** Throws ConnectionError. No bytes may be added then. */
  add(chunk: Buffer): void {
    let at = this.#preface.length === 0 ? 0 : this.#readPreface(chunk);
    if (this.#arrived > 0) at = this.#complete(chunk, at);
    while (!this.#isStopped && chunk.length - at >= FRAME_HEAD_BYTES) {
      const end = at + FRAME_HEAD_BYTES + lengthAt(chunk, at);
      if (end > chunk.length) break;
      this.#hand(chunk, at, end);
      at = end;
    }
    if (!this.#isStopped && at < chunk.length) this.#begin(chunk, at);
  }

  /** The rest of the bytes is not read. */
  stop(): void {
    this.#isStopped = true;
    this.#begun = NO_BYTES;
    this.#arrived = 0;
  }

  #readPreface(chunk: Buffer): number {
    const count = Math.min(this.#preface.length, chunk.length);
    const isRight = chunk.subarray(0, count).equals(this.#preface.subarray(0, count));
    demand(isRight, ErrorCode.protocol);
    this.#preface = this.#preface.subarray(count);
    return count;
  }

  /** Makes room for the whole frame, or for its head as long as its length is unknown. */
  #begin(chunk: Buffer, at: number): void {
    const knowsLength = chunk.length - at >= FRAME_HEAD_BYTES;
    this.#begun = Buffer.allocUnsafe(FRAME_HEAD_BYTES + (knowsLength ? lengthAt(chunk, at) : 0));
    this.#arrived = chunk.copy(this.#begun, 0, at);
  }

  /** Returns where the chunk goes on after the frame. */
  #complete(chunk: Buffer, from: number): number {
    let at = from + this.#fill(chunk, from);
    if (this.#arrived === FRAME_HEAD_BYTES && this.#begun.length === FRAME_HEAD_BYTES) {
      const rest = Buffer.allocUnsafe(lengthAt(this.#begun, 0));
      this.#begun = Buffer.concat([this.#begun, rest]);
      at += this.#fill(chunk, at);
    }
    if (this.#arrived === this.#begun.length) {
      const whole = this.#begun;
      this.#begun = NO_BYTES;
      this.#arrived = 0;
      this.#hand(whole, 0, whole.length);
    }
    return at;
  }

  #fill(chunk: Buffer, at: number): number {
    const copied = chunk.copy(this.#begun, this.#arrived, at);
    this.#arrived += copied;
    return copied;
  }

  #hand(bytes: Buffer, at: number, end: number): void {
    const frame = this.#frame;
    frame.type = bytes[at + 3] as number;
    frame.flags = bytes[at + 4] as number;
    frame.stream = readUint31(bytes, at + 5);
    frame.payload = bytes.subarray(at + FRAME_HEAD_BYTES, end);
    this.#onFrame(frame);
  }
}

function lengthAt(bytes: Buffer, at: number): number {
  const length = bytes.readUIntBE(at, 3);
  demand(length <= MAX_PAYLOAD_BYTES, ErrorCode.frameSize);
  return length;
}
