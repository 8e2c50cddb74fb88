/** How much a peer may send on a connection, and when it may send more: https://www.rfc-editor.org/rfc/rfc9113#section-5.2 */
import { ConnectionError, ErrorCode } from './frames.ts';
import { CONNECTION_WINDOW, STREAM_WINDOW } from './limits.ts';
import type { OpenStream } from './open-stream.ts';
import type { Sender } from './sender.ts';

/**
 * Every byte of a DATA frame is credited as soon as it arrives, also padding and bytes of streams that are gone. Credit
 * that waited for complete messages could stop them all.
 */
export class ReceiveWindow {
  readonly #sender: Sender;
  #left = CONNECTION_WINDOW;

  constructor(sender: Sender) {
    this.#sender = sender;
  }

  /** Call it once, after the settings. A peer begins with the size that streams have. */
  open(): void {
    this.#sender.credit(0, CONNECTION_WINDOW - STREAM_WINDOW);
  }

  /** Throws ConnectionError. */
  take(bytes: number): void {
    this.#left -= bytes;
    if (this.#left < 0) throw new ConnectionError(ErrorCode.flowControl);
    const used = CONNECTION_WINDOW - this.#left;
    if (used < CONNECTION_WINDOW / 2) return;
    this.#sender.credit(0, used);
    this.#left = CONNECTION_WINDOW;
  }

  /** Lets the peer send more of a request. */
  credit(stream: OpenStream): void {
    const used = STREAM_WINDOW - stream.receiveWindow;
    if (used < STREAM_WINDOW / 2) return;
    this.#sender.credit(stream.id, used);
    stream.receiveWindow = STREAM_WINDOW;
  }
}
