/** A stream that is open: what its request may still send, and what of its answer waits. */
import type { HeaderBlock } from './header-block.ts';
import { STREAM_WINDOW } from './limits.ts';
import type { RequestHeaders } from './request-headers.ts';
import type { Http2Stream, StreamListener } from './stream.ts';

/** Writes answers. */
export interface AnswerWriter {
  head(stream: OpenStream, block: HeaderBlock): void;
  text(stream: OpenStream, text: string): void;
  /** Nothing is queued before it. */
  last(stream: OpenStream, block: HeaderBlock): void;
}

export interface StreamOptions {
  readonly id: number;
  readonly headers: RequestHeaders;
  readonly writer: AnswerWriter;
  /** How much the peer's settings let each stream send. */
  readonly sendWindow: number;
  /** The number of the sweep before it. */
  readonly openedAt: number;
}

export class OpenStream implements Http2Stream {
  readonly id: number;
  readonly headers: RequestHeaders;
  readonly openedAt: number;
  readonly #writer: AnswerWriter;
  listener: StreamListener | undefined;
  isGone = false;
  hasAnswered = false;

  /** END_STREAM has arrived. */
  hasRequestEnded = false;
  receiveWindow = STREAM_WINDOW;
  receivedBytes = 0;
  readonly announcedBytes: number | undefined;

  /** It is negative if the peer has made it smaller than what was sent. */
  sendWindow: number;
  /** The part of the answer that does not fit into the windows. */
  queued = '';
  /** The end of the answer, if it waits. */
  trailers: HeaderBlock | undefined;

  constructor(options: StreamOptions) {
    this.id = options.id;
    this.headers = options.headers;
    this.openedAt = options.openedAt;
    this.sendWindow = options.sendWindow;
    this.#writer = options.writer;
    const length = options.headers['content-length'];
    this.announcedBytes = length === undefined ? undefined : Number(length);
  }

  respond(head: HeaderBlock): void {
    if (this.isGone || this.hasAnswered) return;
    this.hasAnswered = true;
    this.#writer.head(this, head);
  }

  write(text: string): void {
    if (this.#isWritable && text.length > 0) this.#writer.text(this, text);
  }

  end(trailers: HeaderBlock): void {
    if (!this.#isWritable) return;
    if (this.queued === '') this.#writer.last(this, trailers);
    else this.trailers = trailers;
  }

  refuse(head: HeaderBlock): void {
    if (this.isGone || this.hasAnswered) return;
    this.hasAnswered = true;
    this.#writer.last(this, head);
  }

  get #isWritable(): boolean {
    return !this.isGone && this.hasAnswered && this.trailers === undefined;
  }
}
