/** The streams of a connection: https://www.rfc-editor.org/rfc/rfc9113#section-5.1 */
import { Closed, ClosedStreams } from './closed-streams.ts';
import { ErrorCode } from './frames.ts';
import type { HeaderBlock } from './header-block.ts';
import type { RequestHeaders } from './header-rules.ts';
import { MAX_UNFINISHED_BYTES, SWEEPS_PER_REQUEST } from './limits.ts';
import type { Sender } from './sender.ts';
import { type AnswerWriter, Http2Stream } from './stream.ts';

export interface StreamEvents {
  /** An answer is in the outbox. */
  readonly onAnswer: () => void;
  /** The last stream was closed. */
  readonly onNone: () => void;
}

export class Streams implements AnswerWriter {
  readonly #sender: Sender;
  readonly #events: StreamEvents;
  readonly open = new Map<number, Http2Stream>();
  readonly closed = new ClosedStreams();
  /** The highest id that the peer has used, also for a stream that was refused. */
  lastId = 0;
  #sweeps = 0;
  /** Bytes of requests that have not ended. */
  #unfinishedBytes = 0;

  constructor(sender: Sender, events: StreamEvents) {
    this.#sender = sender;
    this.#events = events;
  }

  /** Whether it was never open. */
  isIdle(id: number): boolean {
    return id > this.lastId || id % 2 === 0;
  }

  add(id: number, headers: RequestHeaders): Http2Stream {
    const stream = new Http2Stream(id, headers, this);
    stream.sendWindow = this.#sender.initialWindow;
    stream.openedAt = this.#sweeps;
    this.open.set(id, stream);
    return stream;
  }

  /** Returns whether the connection may hold so many more bytes of a request, headers included. */
  hold(stream: Http2Stream, bytes: number): boolean {
    stream.heldBytes += bytes;
    this.#unfinishedBytes += bytes;
    return this.#unfinishedBytes <= MAX_UNFINISHED_BYTES;
  }

  endRequest(stream: Http2Stream): void {
    stream.hasRequestEnded = true;
    this.#unfinishedBytes -= stream.heldBytes;
  }

  head(stream: Http2Stream, block: HeaderBlock): void {
    this.#sender.head(stream, block);
    this.#events.onAnswer();
  }

  text(stream: Http2Stream, text: string): void {
    this.#sender.text(stream, text);
    this.#events.onAnswer();
  }

  last(stream: Http2Stream, block: HeaderBlock): void {
    this.#sender.last(stream, block);
    if (stream.hasRequestEnded) this.#close(stream, Closed.finished);
    // The answer is complete, so the rest of the request is of no use (section 8.1).
    else this.reset(stream.id, ErrorCode.none);
    this.#events.onAnswer();
  }

  /** Goes on with an answer that waited for a window. */
  resume(stream: Http2Stream): void {
    const isSent = this.#sender.sendQueued(stream);
    if (isSent && stream.trailers !== undefined) this.last(stream, stream.trailers);
  }

  resumeAll(): void {
    for (const stream of this.#sender.waiting) {
      if (this.#sender.isFull) return;
      this.resume(stream);
    }
  }

  /** Of an open stream, or of one that is refused or gone. */
  reset(id: number, code: number): void {
    this.#sender.reset(id, code);
    const stream = this.open.get(id);
    if (stream === undefined) this.closed.add(id, Closed.byUs);
    else this.#close(stream, Closed.byUs);
  }

  resetByPeer(id: number): void {
    const stream = this.open.get(id);
    if (stream !== undefined) this.#close(stream, Closed.byPeer);
  }

  closeAll(): void {
    for (const stream of this.open.values()) this.#close(stream, Closed.finished);
  }

  /** Resets streams whose request does not end. */
  sweep(): void {
    for (const { id, hasRequestEnded, openedAt } of this.open.values()) {
      if (hasRequestEnded || this.#sweeps - openedAt < SWEEPS_PER_REQUEST) continue;
      this.reset(id, ErrorCode.cancel);
      this.#events.onAnswer();
    }
    this.#sweeps++;
  }

  #close(stream: Http2Stream, reason: number): void {
    if (!stream.hasRequestEnded) this.endRequest(stream);
    stream.isGone = true;
    this.#sender.drop(stream);
    this.open.delete(stream.id);
    this.closed.add(stream.id, reason);
    stream.listener?.onClosed();
    if (this.open.size === 0) this.#events.onNone();
  }
}
