/** Everything that is sent to a peer, within its windows: https://www.rfc-editor.org/rfc/rfc9113#section-5.2 */
import { ConnectionError, ErrorCode, Flag, FrameType, MAX_31_BITS } from './frames.ts';
import type { HeaderBlock } from './header-block.ts';
import type { OpenStream } from './open-stream.ts';
import type { Outbox } from './outbox.ts';

/** Until the peer sends others (section 6.5.2). */
const FIRST_WINDOW = 65_535;
/** A peer accepts frames that are twice as long. A buffer of the outbox holds it. */
const MAX_DATA_BYTES = 8_192;

export class Sender {
  readonly #outbox: Outbox;
  #window = FIRST_WINDOW;
  #initialWindow = FIRST_WINDOW;
  #queuedBytes = 0;
  #hasNewTableSize = false;
  /** Streams with text that the windows hold back, the oldest first. */
  readonly #waiting = new Set<OpenStream>();

  constructor(outbox: Outbox) {
    this.#outbox = outbox;
  }

  /** Of a new stream. */
  get initialWindow(): number {
    return this.#initialWindow;
  }

  get queuedBytes(): number {
    return this.#queuedBytes;
  }

  head({ id }: OpenStream, block: HeaderBlock): void {
    this.#outbox.addFrame(this.#current(block).open, id);
  }

  last({ id }: OpenStream, block: HeaderBlock): void {
    this.#outbox.addFrame(this.#current(block).last, id);
  }

  text(stream: OpenStream, text: string): void {
    const sent = stream.queued === '' ? this.#send(stream, text) : 0;
    if (sent === text.length) return;
    stream.queued += sent === 0 ? text : text.slice(sent);
    this.#queuedBytes += text.length - sent;
    this.#waiting.add(stream);
  }

  /** Streams whose text waits. */
  get waiting(): Iterable<OpenStream> {
    return this.#waiting;
  }

  get isFull(): boolean {
    return this.#window <= 0;
  }

  /** Sends what fits by now of the text that waits. Returns whether that was the rest. */
  sendQueued(stream: OpenStream): boolean {
    if (stream.queued === '') return false;
    const sent = this.#send(stream, stream.queued);
    if (sent === 0) return false;
    stream.queued = stream.queued.slice(sent);
    this.#queuedBytes -= sent;
    return stream.queued === '' && this.#waiting.delete(stream);
  }

  /** Drops what waits for a stream that is gone. */
  drop(stream: OpenStream): void {
    if (!this.#waiting.delete(stream)) return;
    this.#queuedBytes -= stream.queued.length;
    stream.queued = '';
  }

  /** Throws ConnectionError (section 6.9.1). */
  widen(increment: number): void {
    this.#window += increment;
    if (this.#window > MAX_31_BITS) throw new ConnectionError(ErrorCode.flowControl);
  }

  /** Returns the mistake of the peer, or `ErrorCode.none`. */
  widenStream(stream: OpenStream, increment: number): number {
    if (increment === 0) return ErrorCode.protocol;
    stream.sendWindow += increment;
    return stream.sendWindow > MAX_31_BITS ? ErrorCode.flowControl : ErrorCode.none;
  }

  /** A setting of the peer, which changes the windows of open streams, too (section 6.9.2). Throws ConnectionError. */
  setInitialWindow(size: number, open: Iterable<OpenStream>): void {
    const change = size - this.#initialWindow;
    this.#initialWindow = size;
    for (const stream of open) {
      stream.sendWindow += change;
      if (stream.sendWindow > MAX_31_BITS) throw new ConnectionError(ErrorCode.flowControl);
    }
  }

  /** The next block tells the peer that its table is not used. */
  announceTableSize(): void {
    this.#hasNewTableSize = true;
  }

  reset(stream: number, code: number): void {
    this.#outbox.addNumbers({ length: 4, type: FrameType.reset, flags: 0, stream }, [code]);
  }

  /** `stream` is 0 for the connection. */
  credit(stream: number, bytes: number): void {
    this.#outbox.addNumbers({ length: 4, type: FrameType.windowUpdate, flags: 0, stream }, [bytes]);
  }

  ping(payload: Buffer, flags: number): void {
    this.#outbox.addBytes({ length: 8, type: FrameType.ping, flags, stream: 0 }, payload);
  }

  confirmSettings(): void {
    const head = { length: 0, type: FrameType.settings, flags: Flag.ack, stream: 0 };
    this.#outbox.addNumbers(head, []);
  }

  /** Later streams than `last` are not answered. */
  goaway(last: number, code: number): void {
    this.#outbox.addNumbers({ length: 8, type: FrameType.goaway, flags: 0, stream: 0 }, [
      last,
      code,
    ]);
  }

  /** Returns how many bytes fit. */
  #send(stream: OpenStream, text: string): number {
    const fitting = Math.min(text.length, stream.sendWindow, this.#window);
    for (let at = 0; at < fitting; at += MAX_DATA_BYTES) {
      const length = Math.min(MAX_DATA_BYTES, fitting - at);
      const part = length === text.length ? text : text.slice(at, at + length);
      this.#outbox.addText({ length, type: FrameType.data, flags: 0, stream: stream.id }, part);
    }
    const sent = Math.max(0, fitting);
    stream.sendWindow -= sent;
    this.#window -= sent;
    return sent;
  }

  #current(block: HeaderBlock): HeaderBlock {
    if (!this.#hasNewTableSize) return block;
    this.#hasNewTableSize = false;
    return block.withTableSize();
  }
}
