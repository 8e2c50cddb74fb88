/** Handles the frames of a connection, by their type: https://www.rfc-editor.org/rfc/rfc9113#section-6 */
import {
  ConnectionError,
  demand,
  ErrorCode,
  Flag,
  type Frame,
  FrameType,
  frameOf,
  MAX_31_BITS,
  PRIORITY_BYTES,
  readUint31,
} from './frames.ts';
import type { Requests } from './requests.ts';
import { readSettings, Setting } from './settings.ts';
import type { Streams } from './streams.ts';

const SETTINGS_ACK = frameOf(FrameType.settings, Flag.ack, Buffer.alloc(0));
/** Entries of SETTINGS that cost as much as another frame. */
const SETTINGS_BYTES_PER_FRAME = 64;

/** Where a type of frame may stand, if not everywhere, and the only size of its payload. */
const FORMS: Readonly<Record<number, { on?: 'stream' | 'connection'; size?: number }>> = {
  [FrameType.data]: { on: 'stream' },
  [FrameType.headers]: { on: 'stream' },
  // Another size is a mistake of its stream.
  [FrameType.priority]: { on: 'stream' },
  [FrameType.reset]: { on: 'stream', size: 4 },
  [FrameType.settings]: { on: 'connection' },
  [FrameType.ping]: { on: 'connection', size: 8 },
  [FrameType.goaway]: { on: 'connection' },
  [FrameType.windowUpdate]: { size: 4 },
};

export class Receiver {
  readonly #streams: Streams;
  readonly #requests: Requests;
  readonly #onPong: (payload: Buffer) => void;
  #hasSettings = false;
  /** How many frames and header blocks are complete. */
  completed = 0;

  constructor(streams: Streams, requests: Requests, onPong: (payload: Buffer) => void) {
    this.#streams = streams;
    this.#requests = requests;
    this.#onPong = onPong;
  }

  /** Throws ConnectionError and CompressionError. */
  frame(frame: Frame): void {
    if (this.#requests.isInsideBlock) this.#requests.continue(frame);
    else {
      this.#checkForm(frame);
      this.#handle(frame);
    }
    if (!this.#requests.isInsideBlock) this.completed++;
  }

  #checkForm({ type, flags, stream, payload }: Frame): void {
    if (!this.#hasSettings) {
      demand(type === FrameType.settings && (flags & Flag.ack) === 0, ErrorCode.protocol);
      this.#hasSettings = true;
    }
    const form = FORMS[type];
    demand(form?.on !== (stream === 0 ? 'stream' : 'connection'), ErrorCode.protocol);
    demand(form?.size === undefined || form.size === payload.length, ErrorCode.frameSize);
  }

  #handle(frame: Frame): void {
    const { type, stream, payload } = frame;
    const { queuedBytes } = this.#streams;
    switch (type) {
      case FrameType.headers:
        this.#requests.headers(frame);
        return;
      case FrameType.data:
        this.#requests.data(frame);
        return;
      case FrameType.reset:
        this.#streams.resetByPeer(stream);
        return;
      case FrameType.windowUpdate:
        this.#widen(stream, readUint31(payload, 0));
        break;
      case FrameType.ping:
        this.#ping(frame);
        break;
      case FrameType.settings:
        this.#settings(frame);
        break;
      case FrameType.priority:
        this.#priority(frame);
        break;
      case FrameType.goaway:
        // The peer answers nothing any more. What it has asked for is answered.
        demand(payload.length >= 8, ErrorCode.frameSize);
        break;
      case FrameType.pushPromise:
      case FrameType.continuation:
        throw new ConnectionError(ErrorCode.protocol);
      // Section 5.5: unknown types are ignored.
    }
    // Credit that lets bytes of an answer go was paid for by the request, also if it comes byte by byte.
    if (this.#streams.queuedBytes >= queuedBytes) this.#requests.controlFrames.take(1);
  }

  #ping({ flags, payload }: Frame): void {
    if ((flags & Flag.ack) !== 0) this.#onPong(payload);
    else this.#streams.outbox.addFrame(frameOf(FrameType.ping, Flag.ack, payload));
  }

  #settings({ flags, payload }: Frame): void {
    if ((flags & Flag.ack) !== 0) {
      demand(payload.length === 0, ErrorCode.frameSize);
      return;
    }
    const streams = this.#streams;
    this.#requests.controlFrames.take(Math.floor(payload.length / SETTINGS_BYTES_PER_FRAME));
    const settings = readSettings(payload);
    const window = settings.get(Setting.initialWindowSize);
    if (settings.has(Setting.headerTableSize)) streams.hasNewTableSize = true;
    streams.outbox.addFrame(SETTINGS_ACK);
    if (window !== undefined) streams.setWindow(window);
  }

  /** An increment of 0, or too large a window, is a mistake of the stream, or of the connection (section 6.9). */
  #widen(id: number, increment: number): void {
    const streams = this.#streams;
    const stream = streams.open.get(id);
    if (id === 0) {
      demand(increment > 0, ErrorCode.protocol);
      streams.widen(increment);
    } else if (stream === undefined) {
      demand(!streams.isIdle(id), ErrorCode.protocol);
    } else {
      stream.sendWindow += increment;
      if (increment === 0) streams.refuse(id, ErrorCode.protocol);
      else if (stream.sendWindow > MAX_31_BITS) streams.refuse(id, ErrorCode.flowControl);
      else streams.resume(stream);
    }
  }

  /** Priorities are ignored, but no stream may depend on itself (RFC 7540, section 5.3.1). */
  #priority({ stream, payload }: Frame): void {
    const hasSize = payload.length === PRIORITY_BYTES;
    if (hasSize && readUint31(payload, 0) !== stream) return;
    const code = hasSize ? ErrorCode.protocol : ErrorCode.frameSize;
    // A stream that is not open cannot be reset.
    demand(this.#streams.open.has(stream), code);
    this.#streams.refuse(stream, code);
  }
}
