/** Handles the frames of a connection, by their type: https://www.rfc-editor.org/rfc/rfc9113#section-6 */
import {
  ConnectionError,
  ErrorCode,
  Flag,
  type Frame,
  FrameType,
  MAX_31_BITS,
  readUint31,
  withoutPadding,
} from './frames.ts';
import { MAX_CONTINUATIONS, MAX_HEADER_BYTES } from './limits.ts';
import type { ReceivedBlock, Requests } from './requests.ts';
import type { Sender } from './sender.ts';
import { readSettings } from './settings.ts';
import type { Streams } from './streams.ts';

const PRIORITY_BYTES = 5;
/** Entries of SETTINGS that cost as much as another frame. */
const SETTINGS_BYTES_PER_FRAME = 64;
const NO_BYTES = Buffer.alloc(0);

/** Those with one size. PRIORITY of another size is a mistake of its stream. */
const SIZES: Readonly<Record<number, number>> = {
  [FrameType.reset]: 4,
  [FrameType.ping]: 8,
  [FrameType.windowUpdate]: 4,
};
const ON_CONNECTION = new Set<number>([FrameType.settings, FrameType.ping, FrameType.goaway]);
const ON_STREAM = new Set<number>([
  FrameType.data,
  FrameType.headers,
  FrameType.priority,
  FrameType.reset,
]);

export interface ReceiverParts {
  readonly streams: Streams;
  readonly sender: Sender;
  readonly requests: Requests;
  readonly onPong: (payload: Buffer) => void;
}

/** A header block whose end has not arrived. */
interface OpenBlock extends ReceivedBlock {
  readonly parts: Buffer[];
}

export class Receiver {
  readonly #parts: ReceiverParts;
  #hasSettings = false;
  #block: OpenBlock | undefined;
  /** How many frames and header blocks are complete. */
  completed = 0;

  constructor(parts: ReceiverParts) {
    this.#parts = parts;
  }

  get isInsideBlock(): boolean {
    return this.#block !== undefined;
  }

  /** Throws ConnectionError and CompressionError. */
  frame(frame: Frame): void {
    if (this.#block === undefined) this.#handle(frame);
    else this.#continue(this.#block, frame);
    if (this.#block === undefined) this.completed++;
  }

  #handle(frame: Frame): void {
    this.#checkForm(frame);
    switch (frame.type) {
      case FrameType.headers:
        this.#headers(frame);
        break;
      case FrameType.data:
        this.#parts.requests.data(frame);
        break;
      case FrameType.reset:
        this.#reset(frame);
        break;
      default:
        this.#charged(frame);
    }
  }

  /** Credit that lets bytes of an answer go was paid for by the request, also if it comes byte by byte. */
  #charged(frame: Frame): void {
    const { requests, sender } = this.#parts;
    const { queuedBytes } = sender;
    this.#control(frame);
    if (sender.queuedBytes >= queuedBytes) requests.control(1);
  }

  #control(frame: Frame): void {
    switch (frame.type) {
      case FrameType.windowUpdate:
        this.#widen(frame);
        break;
      case FrameType.ping:
        if ((frame.flags & Flag.ack) === 0) this.#parts.sender.ping(frame.payload, Flag.ack);
        else this.#parts.onPong(frame.payload);
        break;
      case FrameType.settings:
        this.#settings(frame);
        break;
      case FrameType.priority:
        this.#priority(frame);
        break;
      case FrameType.goaway:
        // The peer answers nothing any more. What it has asked for is answered.
        if (frame.payload.length < 8) throw new ConnectionError(ErrorCode.frameSize);
        break;
      case FrameType.pushPromise:
      case FrameType.continuation:
        throw new ConnectionError(ErrorCode.protocol);
      // Section 5.5: unknown types are ignored.
    }
  }

  #checkForm({ type, flags, stream, payload }: Frame): void {
    const isFirst = !this.#hasSettings;
    this.#hasSettings = true;
    if (isFirst && (type !== FrameType.settings || (flags & Flag.ack) !== 0)) {
      throw new ConnectionError(ErrorCode.protocol);
    }
    if (stream === 0 ? ON_STREAM.has(type) : ON_CONNECTION.has(type)) {
      throw new ConnectionError(ErrorCode.protocol);
    }
    if (payload.length !== (SIZES[type] ?? payload.length)) {
      throw new ConnectionError(ErrorCode.frameSize);
    }
  }

  #headers(frame: Frame): void {
    const { flags, stream } = frame;
    let bytes = withoutPadding(frame);
    let dependsOnItself = false;
    if ((flags & Flag.priority) !== 0) {
      if (bytes.length < PRIORITY_BYTES) throw new ConnectionError(ErrorCode.frameSize);
      dependsOnItself = readUint31(bytes, 0) === stream;
      bytes = bytes.subarray(PRIORITY_BYTES);
    }
    const block = { stream, isLast: (flags & Flag.endStream) !== 0, dependsOnItself, bytes };
    if ((flags & Flag.endHeaders) !== 0) this.#parts.requests.headers(block);
    // The chunk that it is in is not kept.
    else this.#block = { ...block, bytes: NO_BYTES, parts: [Buffer.from(bytes)] };
  }

  #continue(block: OpenBlock, { type, flags, stream, payload }: Frame): void {
    if (type !== FrameType.continuation || stream !== block.stream) {
      throw new ConnectionError(ErrorCode.protocol);
    }
    const { parts } = block;
    parts.push(Buffer.from(payload));
    const length = parts.reduce((sum, part) => sum + part.length, 0);
    if (parts.length > MAX_CONTINUATIONS + 1 || length > MAX_HEADER_BYTES) {
      throw new ConnectionError(ErrorCode.enhanceYourCalm);
    }
    if ((flags & Flag.endHeaders) === 0) return;
    this.#block = undefined;
    this.#parts.requests.headers({ ...block, bytes: Buffer.concat(parts) });
  }

  #settings({ flags, payload }: Frame): void {
    const { requests, sender, streams } = this.#parts;
    if ((flags & Flag.ack) !== 0) {
      if (payload.length > 0) throw new ConnectionError(ErrorCode.frameSize);
      return;
    }
    requests.control(Math.floor(payload.length / SETTINGS_BYTES_PER_FRAME));
    const { initialWindow, hasTableSize } = readSettings(payload);
    if (hasTableSize) sender.hasNewTableSize = true;
    sender.settings(NO_BYTES, Flag.ack);
    if (initialWindow === undefined) return;
    sender.setInitialWindow(initialWindow, streams.open.values());
    streams.resumeAll();
  }

  /** An increment of 0, or too large a window, is a mistake of the stream, or of the connection (section 6.9). */
  #widen({ stream: id, payload }: Frame): void {
    const { requests, sender, streams } = this.#parts;
    const increment = readUint31(payload, 0);
    const stream = streams.open.get(id);
    if (id === 0) {
      if (increment === 0) throw new ConnectionError(ErrorCode.protocol);
      sender.widen(increment);
      streams.resumeAll();
    } else if (stream === undefined) {
      if (streams.isIdle(id)) throw new ConnectionError(ErrorCode.protocol);
    } else {
      stream.sendWindow += increment;
      if (increment === 0) requests.refuse(id, ErrorCode.protocol);
      else if (stream.sendWindow > MAX_31_BITS) requests.refuse(id, ErrorCode.flowControl);
      else streams.resume(stream);
    }
  }

  #reset({ stream }: Frame): void {
    const { requests, streams } = this.#parts;
    if (streams.isIdle(stream)) throw new ConnectionError(ErrorCode.protocol);
    requests.resetByPeer(stream);
  }

  /** Priorities are ignored, but no stream may depend on itself (RFC 7540, section 5.3.1). */
  #priority({ stream, payload }: Frame): void {
    const { requests, streams } = this.#parts;
    const hasSize = payload.length === PRIORITY_BYTES;
    if (hasSize && readUint31(payload, 0) !== stream) return;
    const code = hasSize ? ErrorCode.protocol : ErrorCode.frameSize;
    // A stream that is not open cannot be reset.
    if (!streams.open.has(stream)) throw new ConnectionError(code);
    requests.refuse(stream, code);
  }
}
