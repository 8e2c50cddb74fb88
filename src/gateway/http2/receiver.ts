/** Handles the frames of a connection, by their type: https://www.rfc-editor.org/rfc/rfc9113#section-6 */
import {
  ConnectionError,
  ErrorCode,
  Flag,
  type Frame,
  FrameType,
  readUint31,
  withoutPadding,
} from './frames.ts';
import { MAX_CONTINUATIONS, MAX_HEADER_BYTES } from './limits.ts';
import type { Requests } from './requests.ts';
import type { Sender } from './sender.ts';
import { readIncrement, readSettings } from './settings.ts';
import type { Streams } from './streams.ts';

const PRIORITY_BYTES = 5;
/** Entries of SETTINGS that cost as much as another frame. */
const SETTINGS_BYTES_PER_FRAME = 64;

export interface ReceiverParts {
  readonly streams: Streams;
  readonly sender: Sender;
  readonly requests: Requests;
  readonly onPong: (payload: Buffer) => void;
}

/** A header block whose end has not arrived. */
interface OpenBlock {
  readonly stream: number;
  readonly isLast: boolean;
  readonly dependsOnItself: boolean;
  readonly parts: Buffer[];
  bytes: number;
}

export class Receiver {
  readonly #parts: ReceiverParts;
  #hasSettings = false;
  #block: OpenBlock | undefined;
  /** How many frames and header blocks are complete. */
  #completed = 0;

  constructor(parts: ReceiverParts) {
    this.#parts = parts;
  }

  get isInsideBlock(): boolean {
    return this.#block !== undefined;
  }

  get completed(): number {
    return this.#completed;
  }

  /** Throws ConnectionError and CompressionError. */
  frame(frame: Frame): void {
    if (this.#block !== undefined) this.#continue(this.#block, frame);
    else if (this.#hasSettings) this.#handle(frame);
    else this.#first(frame);
    if (this.#block === undefined) this.#completed++;
  }

  #first(frame: Frame): void {
    if (frame.type !== FrameType.settings || (frame.flags & Flag.ack) !== 0) {
      throw new ConnectionError(ErrorCode.protocol);
    }
    this.#settings(frame);
    this.#hasSettings = true;
  }

  #handle(frame: Frame): void {
    const { requests } = this.#parts;
    switch (frame.type) {
      case FrameType.headers:
        this.#headers(frame);
        break;
      case FrameType.data:
        requests.data(frame);
        break;
      case FrameType.windowUpdate:
        this.#widen(frame);
        break;
      case FrameType.reset:
        this.#reset(frame);
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
        this.#goaway(frame);
        break;
      case FrameType.pushPromise:
      case FrameType.continuation:
        throw new ConnectionError(ErrorCode.protocol);
      default:
        // Section 5.5: unknown types are ignored.
        requests.control(1);
    }
  }

  #headers(frame: Frame): void {
    const { flags, stream } = frame;
    if (stream === 0) throw new ConnectionError(ErrorCode.protocol);
    let bytes = withoutPadding(frame);
    let dependsOnItself = false;
    if ((flags & Flag.priority) !== 0) {
      if (bytes.length < PRIORITY_BYTES) throw new ConnectionError(ErrorCode.frameSize);
      dependsOnItself = readUint31(bytes, 0) === stream;
      bytes = bytes.subarray(PRIORITY_BYTES);
    }
    const isLast = (flags & Flag.endStream) !== 0;
    if ((flags & Flag.endHeaders) !== 0) {
      this.#parts.requests.headers({ stream, isLast, dependsOnItself, bytes });
    } else {
      // The chunk that it is in is not kept.
      const parts = [Buffer.from(bytes)];
      this.#block = { stream, isLast, dependsOnItself, parts, bytes: bytes.length };
    }
  }

  #continue(block: OpenBlock, { type, flags, stream, payload }: Frame): void {
    if (type !== FrameType.continuation || stream !== block.stream) {
      throw new ConnectionError(ErrorCode.protocol);
    }
    block.parts.push(Buffer.from(payload));
    block.bytes += payload.length;
    if (block.parts.length > MAX_CONTINUATIONS + 1 || block.bytes > MAX_HEADER_BYTES) {
      throw new ConnectionError(ErrorCode.enhanceYourCalm);
    }
    if ((flags & Flag.endHeaders) === 0) return;
    this.#block = undefined;
    this.#parts.requests.headers({ ...block, bytes: Buffer.concat(block.parts) });
  }

  #settings({ flags, stream, payload }: Frame): void {
    const { requests, sender, streams } = this.#parts;
    if (stream !== 0) throw new ConnectionError(ErrorCode.protocol);
    requests.control(1 + Math.floor(payload.length / SETTINGS_BYTES_PER_FRAME));
    if ((flags & Flag.ack) !== 0) {
      if (payload.length > 0) throw new ConnectionError(ErrorCode.frameSize);
      return;
    }
    const { initialWindow, hasTableSize } = readSettings(payload);
    if (hasTableSize) sender.announceTableSize();
    sender.confirmSettings();
    if (initialWindow === undefined) return;
    sender.setInitialWindow(initialWindow, streams.all());
    streams.resumeAll();
  }

  #ping({ flags, stream, payload }: Frame): void {
    const { requests, sender, onPong } = this.#parts;
    if (stream !== 0) throw new ConnectionError(ErrorCode.protocol);
    if (payload.length !== 8) throw new ConnectionError(ErrorCode.frameSize);
    requests.control(1);
    if ((flags & Flag.ack) === 0) sender.ping(payload, Flag.ack);
    else onPong(payload);
  }

  #widen({ stream: id, payload }: Frame): void {
    const { requests, sender, streams } = this.#parts;
    const increment = readIncrement(payload);
    requests.control(1);
    if (id === 0) {
      if (increment === 0) throw new ConnectionError(ErrorCode.protocol);
      sender.widen(increment);
      streams.resumeAll();
      return;
    }
    if (streams.isIdle(id)) throw new ConnectionError(ErrorCode.protocol);
    const stream = streams.get(id);
    if (stream === undefined) return;
    const mistake = sender.widenStream(stream, increment);
    if (mistake !== ErrorCode.none) requests.refuse(id, mistake);
    else streams.resume(stream);
  }

  #reset({ stream, payload }: Frame): void {
    const { requests, streams } = this.#parts;
    if (streams.isIdle(stream)) throw new ConnectionError(ErrorCode.protocol);
    if (payload.length !== 4) throw new ConnectionError(ErrorCode.frameSize);
    requests.resetByPeer(stream);
  }

  /** Priorities are ignored, but no stream may depend on itself (RFC 7540, section 5.3.1). */
  #priority({ stream, payload }: Frame): void {
    const { requests, streams } = this.#parts;
    if (stream === 0) throw new ConnectionError(ErrorCode.protocol);
    requests.control(1);
    const isLong = payload.length === PRIORITY_BYTES;
    if (isLong && readUint31(payload, 0) !== stream) return;
    const code = isLong ? ErrorCode.protocol : ErrorCode.frameSize;
    // A stream that was never open cannot be reset.
    if (streams.get(stream) === undefined) throw new ConnectionError(code);
    requests.refuse(stream, code);
  }

  /** The peer opens no further streams by itself. Those that are open are answered. */
  #goaway({ stream, payload }: Frame): void {
    if (stream !== 0) throw new ConnectionError(ErrorCode.protocol);
    if (payload.length < 8) throw new ConnectionError(ErrorCode.frameSize);
    this.#parts.requests.control(1);
  }
}
