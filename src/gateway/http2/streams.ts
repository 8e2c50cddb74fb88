/**
 * The streams of a connection (https://www.rfc-editor.org/rfc/rfc9113#section-5.1), and the answers on them, which are sent
 * within the windows of the peer (section 5.2).
 */
import { Closed, ClosedStreams } from './closed-streams.ts';
import { demand, ErrorCode, FrameType, MAX_31_BITS } from './frames.ts';
import type { HeaderBlock } from './header-block.ts';
import type { RequestHeaders } from './header-rules.ts';
import { Budget, MAX_UNFINISHED_BYTES, RESETS, SWEEPS_PER_REQUEST } from './limits.ts';
import type { Outbox } from './outbox.ts';
import { type AnswerWriter, Http2Stream } from './stream.ts';

/** The window of a connection, and of its streams, until the peer sends another (section 6.5.2). */
const FIRST_WINDOW = 65_535;
/** A peer accepts frames that are twice as long. */
const MAX_DATA_BYTES = 8_192;

export interface StreamEvents {
  /** An answer is in the outbox. */
  readonly onAnswer: () => void;
  /** The last stream was closed. */
  readonly onNone: () => void;
}

export class Streams implements AnswerWriter {
  readonly outbox: Outbox;
  readonly #events: StreamEvents;
  readonly open = new Map<number, Http2Stream>();
  readonly closed = new ClosedStreams();
  /** The highest id that the peer has used, also for a stream that was refused. */
  lastId = 0;
  /** Streams above it were announced as not answered. */
  finalId = Number.POSITIVE_INFINITY;
  readonly #resets = new Budget(RESETS);
  #sweeps = 0;
  /** Bytes of requests that have not ended. */
  #unfinishedBytes = 0;

  #window = FIRST_WINDOW;
  #windowOfNew = FIRST_WINDOW;
  /** Streams with text that the windows hold back, the oldest first. */
  readonly #waiting = new Set<Http2Stream>();
  queuedBytes = 0;
  /** The next block must tell the peer that its table is not used. */
  hasNewTableSize = false;

  constructor(outbox: Outbox, events: StreamEvents) {
    this.outbox = outbox;
    this.#events = events;
  }

  /** Whether it was never open. */
  isIdle(id: number): boolean {
    return id > this.lastId || id % 2 === 0;
  }

  add(id: number, headers: RequestHeaders): Http2Stream {
    const stream = new Http2Stream(id, headers, this);
    stream.sendWindow = this.#windowOfNew;
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

  keep(stream: Http2Stream, bytes: number): void {
    this.#unfinishedBytes += bytes - stream.heldBytes;
    stream.heldBytes = bytes;
    stream.openedAt = bytes === 0 ? Number.POSITIVE_INFINITY : this.#sweeps;
  }

  endRequest(stream: Http2Stream): void {
    stream.hasRequestEnded = true;
    this.#unfinishedBytes -= stream.heldBytes;
  }

  /** Call it when the listener has got the end of the request. */
  closeIfAnswered(stream: Http2Stream): void {
    const { isGone, trailers, queued } = stream;
    if (!isGone && trailers !== undefined && queued === '') this.#close(stream, Closed.finished);
  }

  head(stream: Http2Stream, block: HeaderBlock): void {
    this.outbox.addFrame(this.#current(block).open, stream.id);
    this.#events.onAnswer();
  }

  text(stream: Http2Stream, text: string): void {
    const rest = stream.queued === '' ? this.#send(stream, text) : text;
    if (rest !== '') {
      stream.queued += rest;
      this.queuedBytes += rest.length;
      this.#waiting.add(stream);
    }
    this.#events.onAnswer();
  }

  last(stream: Http2Stream, block: HeaderBlock): void {
    this.outbox.addFrame(this.#current(block).last, stream.id);
    if (stream.hasRequestEnded) this.#close(stream, Closed.finished);
    else if (stream.isReadOn) stream.trailers = block;
    // The answer is complete, so the rest of the request is of no use (section 8.1).
    else this.#reset(stream.id, ErrorCode.none);
    this.#events.onAnswer();
  }

  /** Widens the window of the connection. Throws ConnectionError (section 6.9.1). */
  widen(increment: number): void {
    this.#window += increment;
    demand(this.#window <= MAX_31_BITS, ErrorCode.flowControl);
    this.#resumeAll();
  }

  /** A setting of the peer, which changes the windows of open streams, too (section 6.9.2). Throws ConnectionError. */
  setWindow(size: number): void {
    for (const stream of this.open.values()) {
      stream.sendWindow += size - this.#windowOfNew;
      demand(stream.sendWindow <= MAX_31_BITS, ErrorCode.flowControl);
    }
    this.#windowOfNew = size;
    this.#resumeAll();
  }

  /** Sends what fits by now of an answer that waited for a window. */
  resume(stream: Http2Stream): void {
    if (stream.queued === '') return;
    this.queuedBytes -= stream.queued.length;
    stream.queued = this.#send(stream, stream.queued);
    this.queuedBytes += stream.queued.length;
    if (stream.queued !== '') return;
    this.#waiting.delete(stream);
    if (stream.trailers !== undefined) this.last(stream, stream.trailers);
  }

  /** Resets a stream because of what its peer did. Throws ConnectionError if the peer does it too often. */
  refuse(id: number, code: number): void {
    this.#reset(id, code);
    this.#resets.take(1);
  }

  /** Throws ConnectionError if the stream was never open, or the peer does it too often. */
  resetByPeer(id: number): void {
    demand(!this.isIdle(id), ErrorCode.protocol);
    const stream = this.open.get(id);
    if (stream !== undefined) this.#close(stream, Closed.byPeer);
    this.#resets.take(1);
  }

  closeAll(): void {
    for (const stream of this.open.values()) this.#close(stream, Closed.finished);
  }

  /** Resets streams whose request does not end. */
  sweep(): void {
    for (const { id, hasRequestEnded, openedAt } of this.open.values()) {
      if (hasRequestEnded || this.#sweeps - openedAt < SWEEPS_PER_REQUEST) continue;
      this.#reset(id, ErrorCode.cancel);
      this.#events.onAnswer();
    }
    this.#sweeps++;
  }

  #current(block: HeaderBlock): HeaderBlock {
    if (!this.hasNewTableSize) return block;
    this.hasNewTableSize = false;
    return block.withTableSize();
  }

  /** Returns what does not fit. */
  #send(stream: Http2Stream, text: string): string {
    const fitting = Math.max(0, Math.min(text.length, stream.sendWindow, this.#window));
    stream.sendWindow -= fitting;
    this.#window -= fitting;
    for (let at = 0; at < fitting; at += MAX_DATA_BYTES) {
      this.outbox.addText(text.slice(at, Math.min(fitting, at + MAX_DATA_BYTES)), stream.id);
    }
    return text.slice(fitting);
  }

  #resumeAll(): void {
    for (const stream of this.#waiting) {
      if (this.#window <= 0) return;
      this.resume(stream);
    }
  }

  /** Of an open stream, or of one that is refused or gone. */
  #reset(id: number, code: number): void {
    this.outbox.addNumbers(FrameType.reset, id, code);
    const stream = this.open.get(id);
    if (stream === undefined) this.closed.add(id, Closed.byUs);
    else this.#close(stream, Closed.byUs);
  }

  #close(stream: Http2Stream, reason: number): void {
    if (!stream.hasRequestEnded) this.endRequest(stream);
    stream.isGone = true;
    if (this.#waiting.delete(stream)) {
      this.queuedBytes -= stream.queued.length;
      stream.queued = '';
    }
    this.open.delete(stream.id);
    this.closed.add(stream.id, reason);
    stream.listener?.onClosed();
    if (this.open.size === 0) this.#events.onNone();
  }
}
