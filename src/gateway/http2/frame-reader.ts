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

export class FrameReader {
  readonly #onFrame: (frame: Frame) => void;
  readonly #frame: Frame = { type: 0, flags: 0, stream: 0, payload: NO_BYTES };
  /** What must arrive before the first frame. */
  #preface: Buffer = PREFACE;
  /** A copy of the frame that has begun, so that no chunk is kept, with room for its head or all of it. */
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
    const bytes = this.#preface.length > 0 ? this.#withoutPreface(chunk) : chunk;
    if (this.#arrived === 0) {
      this.#read(bytes);
    } else if (this.#arrived + bytes.length < this.#begun.length) {
      this.#arrived += bytes.copy(this.#begun, this.#arrived);
    } else {
      this.#read(Buffer.concat([this.#begun.subarray(0, this.#arrived), bytes]));
    }
  }

  /** The rest of the bytes is not read. */
  stop(): void {
    this.#isStopped = true;
    this.#begun = NO_BYTES;
    this.#arrived = 0;
  }

  #withoutPreface(chunk: Buffer): Buffer {
    const count = Math.min(this.#preface.length, chunk.length);
    const isRight = chunk.subarray(0, count).equals(this.#preface.subarray(0, count));
    demand(isRight, ErrorCode.protocol);
    this.#preface = this.#preface.subarray(count);
    return chunk.subarray(count);
  }

  #read(bytes: Buffer): void {
    let at = 0;
    let size = sizeAt(bytes, at);
    while (at + size <= bytes.length) {
      this.#hand(bytes, at, at + size);
      if (this.#isStopped) return;
      at += size;
      size = sizeAt(bytes, at);
    }
    this.#arrived = bytes.length - at;
    this.#begun = this.#arrived === 0 ? NO_BYTES : Buffer.allocUnsafe(size);
    bytes.copy(this.#begun, 0, at);
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

/** Of the frame, or of its head as long as that is incomplete. */
function sizeAt(bytes: Buffer, at: number): number {
  if (bytes.length - at < FRAME_HEAD_BYTES) return FRAME_HEAD_BYTES;
  const length = bytes.readUIntBE(at, 3);
  demand(length <= MAX_PAYLOAD_BYTES, ErrorCode.frameSize);
  return FRAME_HEAD_BYTES + length;
}
