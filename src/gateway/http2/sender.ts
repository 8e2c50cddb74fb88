/** Everything that is sent to a peer, within its windows: https://www.rfc-editor.org/rfc/rfc9113#section-5.2 */
import { ConnectionError, ErrorCode, FrameType, frameOf, MAX_31_BITS } from './frames.ts';
import type { HeaderBlock } from './header-block.ts';
import type { Outbox } from './outbox.ts';
import type { Http2Stream } from './stream.ts';

/** Until the peer sends others (section 6.5.2). */
const FIRST_WINDOW = 65_535;
/** A peer accepts frames that are twice as long. */
const MAX_DATA_BYTES = 8_192;

export class Sender {
  readonly #outbox: Outbox;
  #window = FIRST_WINDOW;
  /** Of a new stream. */
  initialWindow = FIRST_WINDOW;
  queuedBytes = 0;
  /** The next block must tell the peer that its table is not used. */
  hasNewTableSize = false;
  /** Streams with text that the windows hold back, the oldest first. */
  readonly waiting = new Set<Http2Stream>();

  constructor(outbox: Outbox) {
    this.#outbox = outbox;
  }

  get isFull(): boolean {
    return this.#window <= 0;
  }

  head({ id }: Http2Stream, block: HeaderBlock): void {
    this.#outbox.addFrame(this.#current(block).open, id);
  }

  last({ id }: Http2Stream, block: HeaderBlock): void {
    this.#outbox.addFrame(this.#current(block).last, id);
  }

  text(stream: Http2Stream, text: string): void {
    const rest = stream.queued === '' ? this.#send(stream, text) : text;
    if (rest === '') return;
    stream.queued += rest;
    this.queuedBytes += rest.length;
    this.waiting.add(stream);
  }

  /** Sends what fits by now of the text that waits. Returns whether that was the rest. */
  sendQueued(stream: Http2Stream): boolean {
    if (stream.queued === '') return false;
    this.queuedBytes -= stream.queued.length;
    stream.queued = this.#send(stream, stream.queued);
    this.queuedBytes += stream.queued.length;
    return stream.queued === '' && this.waiting.delete(stream);
  }

  /** Drops what waits for a stream that is gone. */
  drop(stream: Http2Stream): void {
    if (!this.waiting.delete(stream)) return;
    this.queuedBytes -= stream.queued.length;
    stream.queued = '';
  }

  /** Throws ConnectionError (section 6.9.1). */
  widen(increment: number): void {
    this.#window += increment;
    if (this.#window > MAX_31_BITS) throw new ConnectionError(ErrorCode.flowControl);
  }

  /** A setting of the peer, which changes the windows of open streams, too (section 6.9.2). Throws ConnectionError. */
  setInitialWindow(size: number, open: Iterable<Http2Stream>): void {
    for (const stream of open) {
      stream.sendWindow += size - this.initialWindow;
      if (stream.sendWindow > MAX_31_BITS) throw new ConnectionError(ErrorCode.flowControl);
    }
    this.initialWindow = size;
  }

  reset(stream: number, code: number): void {
    this.#outbox.addFrame(frameOf(FrameType.reset, 0, uint32(code)), stream);
  }

  /** `stream` is 0 for the connection. */
  credit(stream: number, bytes: number): void {
    this.#outbox.addFrame(frameOf(FrameType.windowUpdate, 0, uint32(bytes)), stream);
  }

  /** Later streams than `last` are not answered. */
  goaway(last: number, code: number): void {
    const payload = Buffer.concat([uint32(last), uint32(code)]);
    this.#outbox.addFrame(frameOf(FrameType.goaway, 0, payload), 0);
  }

  ping(payload: Buffer, flags: number): void {
    this.#outbox.addFrame(frameOf(FrameType.ping, flags, payload), 0);
  }

  settings(payload: Buffer, flags: number): void {
    this.#outbox.addFrame(frameOf(FrameType.settings, flags, payload), 0);
  }

  /** Returns what does not fit. */
  #send(stream: Http2Stream, text: string): string {
    const fitting = Math.max(0, Math.min(text.length, stream.sendWindow, this.#window));
    stream.sendWindow -= fitting;
    this.#window -= fitting;
    for (let at = 0; at < fitting; at += MAX_DATA_BYTES) {
      const length = Math.min(MAX_DATA_BYTES, fitting - at);
      const head = { length, type: FrameType.data, flags: 0, stream: stream.id };
      this.#outbox.addText(head, text.slice(at, at + length));
    }
    return text.slice(fitting);
  }

  #current(block: HeaderBlock): HeaderBlock {
    if (!this.hasNewTableSize) return block;
    this.hasNewTableSize = false;
    return block.withTableSize();
  }
}

function uint32(value: number): Buffer {
  const bytes = Buffer.allocUnsafe(4);
  bytes.writeUInt32BE(value);
  return bytes;
}
