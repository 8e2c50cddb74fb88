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

/** Writes answers, and knows how much of requests is held. */
export interface AnswerWriter {
  head(stream: Http2Stream, block: HeaderBlock): void;
  text(stream: Http2Stream, text: string): void;
  /** Nothing is queued before it. */
  last(stream: Http2Stream, block: HeaderBlock): void;
  keep(stream: Http2Stream, bytes: number): void;
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
  /** The number of the sweep before it, or before what is still held of it. Infinity if nothing has to arrive soon. */
  openedAt = 0;
  /** The end of the answer does not end the request. */
  isReadOn = false;
  /** It is negative if the peer has made it smaller than what was sent. */
  sendWindow = 0;
  /** The part of the answer that does not fit into the windows. */
  queued = '';
  /** The end of the answer, if it waits, or if it was sent before the end of the request. */
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

  /** Ends the answer with trailers. What the peer still sends is read, until it ends or resets the request. */
  endBeforeRequest(trailers: HeaderBlock): void {
    this.isReadOn = true;
    this.end(trailers);
  }

  /**
   * For a request of many messages: the listener still holds so many bytes, and has handled the others. If it holds none,
   * the next message can come at any time.
   */
  keep(bytes: number): void {
    if (!this.isGone && !this.hasRequestEnded) this.#writer.keep(this, bytes);
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
