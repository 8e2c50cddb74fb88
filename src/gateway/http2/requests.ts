/** Header blocks and bodies of requests: https://www.rfc-editor.org/rfc/rfc9113#section-8.1 */
import { Closed } from './closed-streams.ts';
import { ConnectionError, ErrorCode, Flag, type Frame, withoutPadding } from './frames.ts';
import { FieldCollector, type FieldMistake, type RequestHeaders } from './header-rules.ts';
import { HeaderDecoder } from './hpack/decoder.ts';
import {
  Budget,
  CONTROL_FRAMES,
  CONTROL_FRAMES_PER_REQUEST,
  HEADER_TABLE_BYTES,
  MAX_STREAMS,
  RESETS,
} from './limits.ts';
import type { ReceiveWindow } from './receive-window.ts';
import type { Http2Stream } from './stream.ts';
import type { Streams } from './streams.ts';

const NO_BYTES = Buffer.alloc(0);

/** Of one request or of its trailers, in one frame or several. */
export interface ReceivedBlock {
  readonly stream: number;
  readonly isLast: boolean;
  readonly dependsOnItself: boolean;
  readonly bytes: Buffer;
}

export type OnRequest = (stream: Http2Stream) => void;

export class Requests {
  readonly #streams: Streams;
  readonly #window: ReceiveWindow;
  readonly #onRequest: OnRequest;
  readonly #decoder = new HeaderDecoder(HEADER_TABLE_BYTES);
  readonly #fields = new FieldCollector();
  readonly #resets = new Budget(RESETS);
  readonly #controlFrames = new Budget(CONTROL_FRAMES);
  /** Streams above it were announced as not answered. */
  finalId = Number.POSITIVE_INFINITY;

  constructor(streams: Streams, window: ReceiveWindow, onRequest: OnRequest) {
    this.#streams = streams;
    this.#window = window;
    this.#onRequest = onRequest;
  }

  /** Every block is decoded, because later ones refer to it. Throws ConnectionError and CompressionError. */
  headers(block: ReceivedBlock): void {
    const id = block.stream;
    const stream = this.#streams.open.get(id);
    const isNew = this.#streams.isIdle(id);
    this.#fields.begin(!isNew);
    this.#decoder.decode(block.bytes, this.#fields.add);
    const fields = this.#fields.end();
    if (isNew) this.#begin(block, fields);
    else if (stream === undefined) this.#lateHeaders(id);
    else if (stream.hasRequestEnded) this.refuse(id, ErrorCode.streamClosed);
    else if (!block.isLast) this.refuse(id, ErrorCode.protocol);
    else if (!this.#refuses(block, fields)) this.#end(stream);
  }

  /** Throws ConnectionError. */
  data(frame: Frame): void {
    const { flags, payload, stream: id } = frame;
    if (this.#streams.isIdle(id)) throw new ConnectionError(ErrorCode.protocol);
    this.#window.take(payload.length);
    const body = withoutPadding(frame);
    const isLast = (flags & Flag.endStream) !== 0;
    if (body.length === 0 && !isLast) this.control(1);
    const stream = this.#streams.open.get(id);
    if (stream === undefined) {
      if (this.#streams.closed.reasonOf(id) !== Closed.byUs)
        this.refuse(id, ErrorCode.streamClosed);
    } else {
      const mistake = this.#mistakeOf(stream, payload.length, body.length);
      if (mistake !== ErrorCode.none) this.refuse(id, mistake);
      else if (isLast) this.#end(stream, body);
      else if (body.length > 0) stream.listener?.onData(body, false);
    }
  }

  #mistakeOf(stream: Http2Stream, sentBytes: number, bodyBytes: number): number {
    if (stream.hasRequestEnded) return ErrorCode.streamClosed;
    if (!this.#window.takeOf(stream, sentBytes)) return ErrorCode.flowControl;
    stream.receivedBytes += bodyBytes;
    if (stream.receivedBytes > announcedBytes(stream)) return ErrorCode.protocol;
    return this.#streams.hold(stream, bodyBytes) ? ErrorCode.none : ErrorCode.enhanceYourCalm;
  }

  resetByPeer(id: number): void {
    this.#streams.resetByPeer(id);
    this.#charge();
  }

  /** Resets a stream because of what its peer did. Throws ConnectionError if the peer does it too often. */
  refuse(id: number, code: number): void {
    this.#streams.reset(id, code);
    this.#charge();
  }

  /** Counts frames that carry no part of a request. Throws ConnectionError. */
  control(frames: number): void {
    if (!this.#controlFrames.take(frames)) throw new ConnectionError(ErrorCode.enhanceYourCalm);
  }

  #charge(): void {
    if (!this.#resets.take(1)) throw new ConnectionError(ErrorCode.enhanceYourCalm);
  }

  #begin(block: ReceivedBlock, fields: RequestHeaders | FieldMistake): void {
    const id = block.stream;
    if (id % 2 === 0) throw new ConnectionError(ErrorCode.protocol);
    this.#streams.lastId = id;
    if (id > this.finalId || this.#streams.open.size >= MAX_STREAMS) {
      this.refuse(id, ErrorCode.refusedStream);
    } else if (!this.#refuses(block, fields)) {
      this.#controlFrames.add(CONTROL_FRAMES_PER_REQUEST);
      const stream = this.#streams.add(id, fields as RequestHeaders);
      if (!this.#streams.hold(stream, this.#fields.bytes)) {
        this.refuse(id, ErrorCode.enhanceYourCalm);
        return;
      }
      this.#onRequest(stream);
      if (block.isLast) this.#end(stream);
    }
  }

  #refuses(block: ReceivedBlock, fields: RequestHeaders | FieldMistake): boolean {
    const isMalformed = block.dependsOnItself || fields === 'malformed';
    if (isMalformed) this.refuse(block.stream, ErrorCode.protocol);
    else if (fields === 'too large') this.refuse(block.stream, ErrorCode.enhanceYourCalm);
    return isMalformed || fields === 'too large';
  }

  #lateHeaders(id: number): void {
    const reason = this.#streams.closed.reasonOf(id);
    if (reason === Closed.byUs) this.control(1);
    else if (reason === Closed.byPeer) this.refuse(id, ErrorCode.streamClosed);
    else if (reason === Closed.finished) throw new ConnectionError(ErrorCode.streamClosed);
    // It was skipped, and ids only grow (section 5.1.1).
    else throw new ConnectionError(ErrorCode.protocol);
  }

  #end(stream: Http2Stream, body: Buffer = NO_BYTES): void {
    if (stream.isGone) return;
    const announced = announcedBytes(stream);
    if (Number.isFinite(announced) && stream.receivedBytes !== announced) {
      this.refuse(stream.id, ErrorCode.protocol);
      return;
    }
    this.#streams.endRequest(stream);
    stream.listener?.onData(body, true);
  }
}

function announcedBytes({ headers }: Http2Stream): number {
  return Number(headers['content-length'] ?? Number.POSITIVE_INFINITY);
}
