/** The streams of a connection: https://www.rfc-editor.org/rfc/rfc9113#section-5.1 */
import { Closed, ClosedStreams } from './closed-streams.ts';
import { ErrorCode } from './frames.ts';
import type { HeaderBlock } from './header-block.ts';
import { MAX_UNFINISHED_BYTES, SWEEPS_PER_REQUEST } from './limits.ts';
import { type AnswerWriter, OpenStream } from './open-stream.ts';
import type { RequestHeaders } from './request-headers.ts';
import type { Sender } from './sender.ts';

export interface StreamEvents {
  /** An answer is in the outbox. */
  readonly onAnswer: () => void;
  /** The last stream was closed. */
  readonly onNone: () => void;
}

export class Streams implements AnswerWriter {
  readonly #sender: Sender;
  readonly #events: StreamEvents;
  readonly #open = new Map<number, OpenStream>();
  readonly #closed = new ClosedStreams();
  #lastId = 0;
  #sweeps = 0;
  /** Bytes of requests that have not ended. */
  #unfinishedBytes = 0;

  constructor(sender: Sender, events: StreamEvents) {
    this.#sender = sender;
    this.#events = events;
  }

  get count(): number {
    return this.#open.size;
  }

  /** The highest id that the peer has used. */
  get lastId(): number {
    return this.#lastId;
  }

  get hasTooMuchUnfinished(): boolean {
    return this.#unfinishedBytes > MAX_UNFINISHED_BYTES;
  }

  isIdle(id: number): boolean {
    return id > this.#lastId || id % 2 === 0;
  }

  get(id: number): OpenStream | undefined {
    return this.#open.get(id);
  }

  all(): Iterable<OpenStream> {
    return this.#open.values();
  }

  /** One of `Closed`. */
  reasonOf(id: number): number | undefined {
    return this.#closed.reasonOf(id);
  }

  /** Each new stream has a higher id, also if it is refused. */
  use(id: number): void {
    this.#lastId = id;
  }

  add(id: number, headers: RequestHeaders): OpenStream {
    const sendWindow = this.#sender.initialWindow;
    const options = { id, headers, writer: this, sendWindow, openedAt: this.#sweeps };
    const stream = new OpenStream(options);
    this.#open.set(id, stream);
    return stream;
  }

  receive(stream: OpenStream, bytes: number): void {
    stream.receivedBytes += bytes;
    this.#unfinishedBytes += bytes;
  }

  endRequest(stream: OpenStream): void {
    stream.hasRequestEnded = true;
    this.#unfinishedBytes -= stream.receivedBytes;
  }

  head(stream: OpenStream, block: HeaderBlock): void {
    this.#sender.head(stream, block);
    this.#events.onAnswer();
  }

  text(stream: OpenStream, text: string): void {
    this.#sender.text(stream, text);
    this.#events.onAnswer();
  }

  last(stream: OpenStream, block: HeaderBlock): void {
    this.#sender.last(stream, block);
    if (stream.hasRequestEnded) this.#close(stream, Closed.finished);
    // The answer is complete, so the rest of the request is of no use (section 8.1).
    else this.reset(stream.id, ErrorCode.none);
    this.#events.onAnswer();
  }

  /** Goes on with an answer that waited for a window. */
  resume(stream: OpenStream): void {
    if (this.#sender.sendQueued(stream) && stream.trailers !== undefined) {
      this.last(stream, stream.trailers);
    }
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
    const stream = this.#open.get(id);
    if (stream === undefined) this.#closed.add(id, Closed.byUs);
    else this.#close(stream, Closed.byUs);
  }

  resetByPeer(id: number): void {
    const stream = this.#open.get(id);
    if (stream !== undefined) this.#close(stream, Closed.byPeer);
  }

  closeAll(): void {
    for (const stream of this.#open.values()) this.#close(stream, Closed.finished);
  }

  /** Resets streams whose request does not end. Returns whether there were any. */
  sweep(): boolean {
    const late = [...this.#open.values()].filter(
      ({ hasRequestEnded, openedAt }) =>
        !hasRequestEnded && this.#sweeps - openedAt >= SWEEPS_PER_REQUEST,
    );
    for (const { id } of late) this.reset(id, ErrorCode.cancel);
    this.#sweeps++;
    return late.length > 0;
  }

  #close(stream: OpenStream, reason: number): void {
    if (!stream.hasRequestEnded) this.endRequest(stream);
    stream.isGone = true;
    this.#sender.drop(stream);
    this.#open.delete(stream.id);
    this.#closed.add(stream.id, reason);
    stream.listener?.onClosed();
    if (this.#open.size === 0) this.#events.onNone();
  }
}
