/** How much a peer may send on a connection, and when it may send more: https://www.rfc-editor.org/rfc/rfc9113#section-5.2 */
import { demand, ErrorCode, FrameType } from './frames.ts';
import { CONNECTION_WINDOW, STREAM_WINDOW } from './limits.ts';
import type { Outbox } from './outbox.ts';
import type { Http2Stream } from './stream.ts';

/** With no more left, the peer gets credit. */
const STREAM_HALF = STREAM_WINDOW / 2;
const CONNECTION_HALF = CONNECTION_WINDOW / 2;

/**
 * Every byte of a DATA frame is credited, also padding and bytes of streams that are gone, and at the next write. Credit
 * that waited for complete messages could stop them all.
 */
export class ReceiveWindow {
  readonly #outbox: Outbox;
  #left = CONNECTION_WINDOW;
  #due: Http2Stream[] = [];

  constructor(outbox: Outbox) {
    this.#outbox = outbox;
  }

  /** Throws ConnectionError if the peer sent more than it had credit for. */
  take(bytes: number): void {
    this.#left -= bytes;
    demand(this.#left >= 0, ErrorCode.flowControl);
  }

  /** The same for one stream. Returns whether the peer had credit. */
  takeOf(stream: Http2Stream, bytes: number): boolean {
    const before = stream.receiveWindow;
    stream.receiveWindow -= bytes;
    if (before > STREAM_HALF && stream.receiveWindow <= STREAM_HALF) this.#due.push(stream);
    return stream.receiveWindow >= 0;
  }

  /** Whether the peer waits for credit, or soon will. */
  get isDue(): boolean {
    return this.#due.length > 0 || this.#left <= CONNECTION_HALF;
  }

  credit(): void {
    if (this.#left <= CONNECTION_HALF) {
      this.#outbox.addNumbers(FrameType.windowUpdate, 0, CONNECTION_WINDOW - this.#left);
      this.#left = CONNECTION_WINDOW;
    }
    for (const stream of this.#due) {
      if (stream.hasRequestEnded) continue;
      const bytes = STREAM_WINDOW - stream.receiveWindow;
      this.#outbox.addNumbers(FrameType.windowUpdate, stream.id, bytes);
      stream.receiveWindow = STREAM_WINDOW;
    }
    this.#due = [];
  }
}
