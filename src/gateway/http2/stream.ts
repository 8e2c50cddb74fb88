/** A request and its answer: one stream of HTTP/2 (https://www.rfc-editor.org/rfc/rfc9113#section-5.1). */
import type { HeaderBlock } from './header-block.ts';
import type { RequestHeaders } from './request-headers.ts';

/** A stream has one object that receives its events, so that a call needs no closures. */
export interface StreamListener {
  /** The bytes of the body, or none at its end. They may be read until this returns: copy what is kept. */
  onData(chunk: Buffer, isLast: boolean): void;
  /** The stream has ended, was reset, or its connection is closed. It is called once. */
  onClosed(): void;
}

/** Its peer can end it at any moment. So each method does nothing if the stream is gone. */
export interface Http2Stream {
  readonly headers: RequestHeaders;
  /** Set it when the request arrives. */
  listener: StreamListener | undefined;
  readonly isGone: boolean;
  readonly hasAnswered: boolean;
  respond(head: HeaderBlock): void;
  /** One character for each byte. It is queued if the peer's window is full. */
  write(text: string): void;
  /** Ends the answer with trailers. If the request has not ended, the rest of it is not read. */
  end(trailers: HeaderBlock): void;
  /** Answers with a head and nothing else. */
  refuse(head: HeaderBlock): void;
}
