/** Header blocks and bodies of requests: https://www.rfc-editor.org/rfc/rfc9113#section-8.1 */
import { Closed } from './closed-streams.ts';
import {
  ConnectionError,
  demand,
  ErrorCode,
  Flag,
  type Frame,
  FrameType,
  PRIORITY_BYTES,
  readUint31,
  withoutPadding,
} from './frames.ts';
import { FieldCollector } from './header-rules.ts';
import { HeaderDecoder } from './hpack/decoder.ts';
import {
  Budget,
  CONTROL_FRAMES,
  CONTROL_FRAMES_PER_REQUEST,
  HEADER_TABLE_BYTES,
  MAX_CONTINUATIONS,
  MAX_HEADER_BYTES,
  MAX_STREAMS,
} from './limits.ts';
import type { ReceiveWindow } from './receive-window.ts';
import type { Http2Stream } from './stream.ts';
import type { Streams } from './streams.ts';

const NO_BYTES = Buffer.alloc(0);

/** Of one request or of its trailers, in one frame or several. */
interface ReceivedBlock {
  readonly stream: number;
  readonly isLast: boolean;
  readonly dependsOnItself: boolean;
  bytes: Buffer;
  continuations: number;
}

export type OnRequest = (stream: Http2Stream) => void;

export class Requests {
  readonly #streams: Streams;
  readonly #window: ReceiveWindow;
  readonly #onRequest: OnRequest;
  readonly #decoder = new HeaderDecoder(HEADER_TABLE_BYTES);
  readonly #fields = new FieldCollector();
  /** A header block whose end has not arrived. */
  #block: ReceivedBlock | undefined;
  /** Frames that carry no part of a request. */
  readonly controlFrames = new Budget(CONTROL_FRAMES);

  constructor(streams: Streams, window: ReceiveWindow, onRequest: OnRequest) {
    this.#streams = streams;
    this.#window = window;
    this.#onRequest = onRequest;
  }

  get isInsideBlock(): boolean {
    return this.#block !== undefined;
  }

  /** Throws ConnectionError and CompressionError, as `continue` does. */
  headers(frame: Frame): void {
    const { flags, stream } = frame;
    let bytes = withoutPadding(frame);
    let dependsOnItself = false;
    if ((flags & Flag.priority) !== 0) {
      demand(bytes.length >= PRIORITY_BYTES, ErrorCode.frameSize);
      dependsOnItself = readUint31(bytes, 0) === stream;
      bytes = bytes.subarray(PRIORITY_BYTES);
    }
    const isLast = (flags & Flag.endStream) !== 0;
    const isWhole = (flags & Flag.endHeaders) !== 0;
    // The chunk that a frame is in is not kept.
    if (!isWhole) bytes = Buffer.from(bytes);
    const block = { stream, isLast, dependsOnItself, bytes, continuations: 0 };
    if (isWhole) this.#decode(block);
    else this.#block = block;
  }

  /** Nothing else may follow inside a block (section 6.10). */
  continue({ type, flags, stream, payload }: Frame): void {
    const block = this.#block as ReceivedBlock;
    demand(type === FrameType.continuation && stream === block.stream, ErrorCode.protocol);
    block.bytes = Buffer.concat([block.bytes, payload]);
    block.continuations++;
    const isTooLarge =
      block.continuations > MAX_CONTINUATIONS || block.bytes.length > MAX_HEADER_BYTES;
    demand(!isTooLarge, ErrorCode.enhanceYourCalm);
    if ((flags & Flag.endHeaders) === 0) return;
    this.#block = undefined;
    this.#decode(block);
  }

  /** Throws ConnectionError. */
  data(frame: Frame): void {
    const { flags, payload, stream: id } = frame;
    demand(!this.#streams.isIdle(id), ErrorCode.protocol);
    this.#window.take(payload.length);
    const body = withoutPadding(frame);
    const isLast = (flags & Flag.endStream) !== 0;
    if (body.length === 0 && !isLast) this.controlFrames.take(1);
    const stream = this.#streams.open.get(id);
    if (stream === undefined) {
      const isExpected = this.#streams.closed.reasonOf(id) === Closed.byUs;
      if (!isExpected) this.#streams.refuse(id, ErrorCode.streamClosed);
      return;
    }
    const mistake = this.#mistakeOf(stream, payload.length, body.length);
    if (mistake !== ErrorCode.none) this.#streams.refuse(id, mistake);
    else if (isLast) this.#end(stream, body);
    else if (body.length > 0) stream.listener?.onData(body, false);
  }

  #mistakeOf(stream: Http2Stream, sentBytes: number, bodyBytes: number): number {
    if (stream.hasRequestEnded) return ErrorCode.streamClosed;
    if (!this.#window.takeOf(stream, sentBytes)) return ErrorCode.flowControl;
    stream.receivedBytes += bodyBytes;
    if (stream.receivedBytes > announcedBytes(stream)) return ErrorCode.protocol;
    return this.#streams.hold(stream, bodyBytes) ? ErrorCode.none : ErrorCode.enhanceYourCalm;
  }

  /** Every block is decoded, because later ones refer to it. */
  #decode(block: ReceivedBlock): void {
    const id = block.stream;
    const stream = this.#streams.open.get(id);
    const isNew = this.#streams.isIdle(id);
    this.#fields.begin(!isNew);
    this.#decoder.decode(block.bytes, this.#fields.add);
    const mistake = block.dependsOnItself ? ErrorCode.protocol : this.#fields.end();
    if (isNew) this.#begin(block, mistake);
    else if (stream === undefined) this.#lateHeaders(id);
    else if (stream.hasRequestEnded) this.#streams.refuse(id, ErrorCode.streamClosed);
    else if (!block.isLast) this.#streams.refuse(id, ErrorCode.protocol);
    else if (mistake !== ErrorCode.none) this.#streams.refuse(id, mistake);
    else this.#end(stream);
  }

  #begin({ stream: id, isLast }: ReceivedBlock, mistake: number): void {
    const streams = this.#streams;
    demand(id % 2 === 1, ErrorCode.protocol);
    streams.lastId = id;
    if (id > streams.finalId || streams.open.size >= MAX_STREAMS) {
      streams.refuse(id, ErrorCode.refusedStream);
    } else if (mistake !== ErrorCode.none) {
      streams.refuse(id, mistake);
    } else {
      this.controlFrames.add(CONTROL_FRAMES_PER_REQUEST);
      const stream = streams.add(id, this.#fields.headers);
      if (streams.hold(stream, this.#fields.bytes)) {
        this.#onRequest(stream);
        if (isLast) this.#end(stream);
      } else streams.refuse(id, ErrorCode.enhanceYourCalm);
    }
  }

  #lateHeaders(id: number): void {
    const reason = this.#streams.closed.reasonOf(id);
    if (reason === Closed.byUs) this.controlFrames.take(1);
    else if (reason === Closed.byPeer) this.#streams.refuse(id, ErrorCode.streamClosed);
    else if (reason === Closed.finished) throw new ConnectionError(ErrorCode.streamClosed);
    // It was skipped, and ids only grow (section 5.1.1).
    else throw new ConnectionError(ErrorCode.protocol);
  }

  #end(stream: Http2Stream, body: Buffer = NO_BYTES): void {
    if (stream.isGone) return;
    const announced = announcedBytes(stream);
    if (Number.isFinite(announced) && stream.receivedBytes !== announced) {
      this.#streams.refuse(stream.id, ErrorCode.protocol);
      return;
    }
    this.#streams.endRequest(stream);
    stream.listener?.onData(body, true);
    if (stream.isReadOn) this.#streams.closeIfAnswered(stream);
  }
}

function announcedBytes({ headers }: Http2Stream): number {
  return Number(headers['content-length'] ?? Number.POSITIVE_INFINITY);
}
