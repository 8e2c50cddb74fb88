/** A request and its answer: one stream of HTTP/2 (https://www.rfc-editor.org/rfc/rfc9113#section-5.1). */
import type { HeaderBlock } from './header-block.ts';
import type { RequestHeaders } from './header-rules.ts';
import { STREAM_WINDOW } from './limits.ts';

/** A stream has one object that receives its events, so that a call needs no closures. */
export interface StreamListener {
  /** The bytes of the body, or none at its end. They may be read until this returns: copy what is kept. */
  onData(chunk: Buffer, isLast: boolean): void;
  /** The stream has ended, was reset, or its connection is closed. It is called once. */
  onClosed(): void;
}

/** Writes answers. */
export interface AnswerWriter {
  head(stream: Http2Stream, block: HeaderBlock): void;
  text(stream: Http2Stream, text: string): void;
  /** Nothing is queued before it. */
  last(stream: Http2Stream, block: HeaderBlock): void;
}

/** Its peer can end it at any moment. So each method does nothing if the stream is gone. */
export class Http2Stream {
  readonly id: number;
  readonly headers: RequestHeaders;
  readonly #writer: AnswerWriter;
  /** Set it when the request arrives. */
  listener: StreamListener | undefined;
  isGone = false;
  hasAnswered = false;

  /** END_STREAM has arrived. */
  hasRequestEnded = false;
  /** Of its body. */
  receivedBytes = 0;
  /** With its headers. */
  heldBytes = 0;
  receiveWindow = STREAM_WINDOW;
  /** The number of the sweep before it. */
  openedAt = 0;
  /** It is negative if the peer has made it smaller than what was sent. */
  sendWindow = 0;
  /** The part of the answer that does not fit into the windows. */
  queued = '';
  /** The end of the answer, if it waits. */
  trailers: HeaderBlock | undefined;

  constructor(id: number, headers: RequestHeaders, writer: AnswerWriter) {
    this.id = id;
    this.headers = headers;
    this.#writer = writer;
  }

  respond(head: HeaderBlock): void {
    if (this.isGone || this.hasAnswered) return;
    this.hasAnswered = true;
    this.#writer.head(this, head);
  }

  /** One character for each byte. It is queued if the peer's window is full. */
  write(text: string): void {
    if (this.#isWritable && text.length > 0) this.#writer.text(this, text);
  }

  /** Ends the answer with trailers. If the request has not ended, the rest of it is not read. */
  end(trailers: HeaderBlock): void {
    if (!this.#isWritable) return;
    if (this.queued === '') this.#writer.last(this, trailers);
    else this.trailers = trailers;
  }

  /** Answers with a head and nothing else. */
  refuse(head: HeaderBlock): void {
    if (this.isGone || this.hasAnswered) return;
    this.hasAnswered = true;
    this.#writer.last(this, head);
  }

  get #isWritable(): boolean {
    return !this.isGone && this.hasAnswered && this.trailers === undefined;
  }
}
