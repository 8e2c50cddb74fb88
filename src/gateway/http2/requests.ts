/** Header blocks and bodies of requests: https://www.rfc-editor.org/rfc/rfc9113#section-8.1 */
import { Budget } from './budget.ts';
import { Closed } from './closed-streams.ts';
import { ConnectionError, ErrorCode, Flag, type Frame, withoutPadding } from './frames.ts';
import { FieldCollector, type FieldMistake } from './header-rules.ts';
import { HeaderDecoder } from './hpack/decoder.ts';
import {
  CONTROL_FRAMES,
  CONTROL_FRAMES_PER_REQUEST,
  HEADER_TABLE_BYTES,
  MAX_STREAMS,
  RESETS,
} from './limits.ts';
import type { OpenStream } from './open-stream.ts';
import { ReceiveWindow } from './receive-window.ts';
import type { RequestHeaders } from './request-headers.ts';
import type { Sender } from './sender.ts';
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

export class Requests {
  readonly #streams: Streams;
  readonly #onRequest: (stream: Http2Stream) => void;
  readonly #window: ReceiveWindow;
  readonly #decoder = new HeaderDecoder(HEADER_TABLE_BYTES);
  readonly #fields = new FieldCollector();
  readonly #addField = (name: string, value: string) => this.#fields.add(name, value);
  readonly #resets = new Budget(RESETS);
  readonly #controlFrames = new Budget(CONTROL_FRAMES);
  /** Streams above it were announced as not answered. */
  #finalId = Number.POSITIVE_INFINITY;

  constructor(streams: Streams, sender: Sender, onRequest: (stream: Http2Stream) => void) {
    this.#streams = streams;
    this.#window = new ReceiveWindow(sender);
    this.#onRequest = onRequest;
  }

  open(): void {
    this.#window.open();
  }

  refuseAbove(id: number): void {
    this.#finalId = id;
  }

  /** Every block is decoded, because later ones refer to it. Throws ConnectionError and CompressionError. */
  headers(block: ReceivedBlock): void {
    const stream = this.#streams.get(block.stream);
    const isNew = this.#streams.isIdle(block.stream);
    this.#fields.begin(!isNew);
    this.#decoder.decode(block.bytes, this.#addField);
    const fields = this.#fields.end();
    if (isNew) this.#begin(block, fields);
    else if (stream !== undefined) this.#trailers(stream, block, fields);
    else this.#lateHeaders(block.stream);
  }

  /** Throws ConnectionError. */
  data(frame: Frame): void {
    const { flags, payload, stream: id } = frame;
    if (id === 0 || this.#streams.isIdle(id)) throw new ConnectionError(ErrorCode.protocol);
    this.#window.take(payload.length);
    const body = withoutPadding(frame);
    const isLast = (flags & Flag.endStream) !== 0;
    if (body.length === 0 && !isLast) this.control(1);
    const stream = this.#streams.get(id);
    if (stream === undefined) {
      if (this.#streams.reasonOf(id) !== Closed.byUs) this.refuse(id, ErrorCode.streamClosed);
      return;
    }
    const mistake = this.#mistakeOf(stream, payload.length, body.length);
    if (mistake !== ErrorCode.none) this.refuse(id, mistake);
    else this.#hand(stream, body, isLast);
  }

  resetByPeer(id: number): void {
    this.#charge();
    this.#streams.resetByPeer(id);
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
    this.#streams.use(id);
    if (id > this.#finalId || this.#streams.count >= MAX_STREAMS) {
      this.refuse(id, ErrorCode.refusedStream);
    } else if (block.dependsOnItself || fields === 'malformed') {
      this.refuse(id, ErrorCode.protocol);
    } else if (fields === 'too large') {
      this.refuse(id, ErrorCode.enhanceYourCalm);
    } else {
      this.#controlFrames.add(CONTROL_FRAMES_PER_REQUEST);
      const stream = this.#streams.add(id, fields);
      this.#onRequest(stream);
      if (block.isLast) this.#end(stream);
    }
  }

  #trailers(
    stream: OpenStream,
    { isLast, dependsOnItself }: ReceivedBlock,
    fields: RequestHeaders | FieldMistake,
  ): void {
    if (stream.hasRequestEnded) this.refuse(stream.id, ErrorCode.streamClosed);
    else if (!isLast || dependsOnItself || fields === 'malformed') {
      this.refuse(stream.id, ErrorCode.protocol);
    } else if (fields === 'too large') this.refuse(stream.id, ErrorCode.enhanceYourCalm);
    else this.#end(stream);
  }

  #lateHeaders(id: number): void {
    const reason = this.#streams.reasonOf(id);
    if (reason === Closed.byUs) this.control(1);
    else if (reason === Closed.byPeer) this.refuse(id, ErrorCode.streamClosed);
    else if (reason === Closed.finished) throw new ConnectionError(ErrorCode.streamClosed);
    // It was skipped, and ids only grow (section 5.1.1).
    else throw new ConnectionError(ErrorCode.protocol);
  }

  #mistakeOf(stream: OpenStream, sentBytes: number, bodyBytes: number): number {
    if (stream.hasRequestEnded) return ErrorCode.streamClosed;
    stream.receiveWindow -= sentBytes;
    if (stream.receiveWindow < 0) return ErrorCode.flowControl;
    this.#streams.receive(stream, bodyBytes);
    if (stream.receivedBytes > (stream.announcedBytes ?? Number.POSITIVE_INFINITY)) {
      return ErrorCode.protocol;
    }
    return this.#streams.hasTooMuchUnfinished ? ErrorCode.enhanceYourCalm : ErrorCode.none;
  }

  #hand(stream: OpenStream, body: Buffer, isLast: boolean): void {
    if (isLast) this.#end(stream, body);
    else if (body.length > 0) stream.listener?.onData(body, false);
    if (!stream.isGone && !isLast) this.#window.credit(stream);
  }

  #end(stream: OpenStream, body: Buffer = NO_BYTES): void {
    if (stream.isGone) return;
    if (stream.announcedBytes !== undefined && stream.receivedBytes !== stream.announcedBytes) {
      this.refuse(stream.id, ErrorCode.protocol);
      return;
    }
    this.#streams.endRequest(stream);
    stream.listener?.onData(body, true);
  }
}
