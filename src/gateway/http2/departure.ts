/**
 * Ends a connection without losing a request: https://www.rfc-editor.org/rfc/rfc9113#section-6.8. The first GOAWAY makes
 * the peer send new requests elsewhere. Those that it sent before it read that are on their way, so the second GOAWAY says
 * only after a round trip which ones are answered.
 */
import { ErrorCode, MAX_31_BITS } from './frames.ts';
import { NOTICE_MS } from './limits.ts';
import type { Requests } from './requests.ts';
import type { Sender } from './sender.ts';
import type { Streams } from './streams.ts';

const PING = Buffer.from('leaving.');

export interface DepartureParts {
  readonly streams: Streams;
  readonly sender: Sender;
  readonly requests: Requests;
  /** Something must be written. */
  readonly onGoaway: () => void;
  /** No stream is left. */
  readonly onDone: () => void;
}

export class Departure {
  readonly #parts: DepartureParts;
  #step: 'none' | 'announced' | 'settled' = 'none';
  #timeout: NodeJS.Timeout | undefined;

  constructor(parts: DepartureParts) {
    this.#parts = parts;
  }

  /** `run` runs what follows if the peer does not answer. */
  begin(run: (work: () => void) => void): void {
    if (this.#step !== 'none') return;
    const { sender, onGoaway } = this.#parts;
    this.#step = 'announced';
    sender.goaway(MAX_31_BITS, ErrorCode.none);
    sender.ping(PING, 0);
    onGoaway();
    this.#timeout = setTimeout(() => run(() => this.#settle()), NOTICE_MS);
  }

  onPong(payload: Buffer): void {
    if (payload.equals(PING)) this.#settle();
  }

  onNone(): void {
    if (this.#step === 'settled') this.#parts.onDone();
  }

  stop(): void {
    clearTimeout(this.#timeout);
  }

  #settle(): void {
    if (this.#step !== 'announced') return;
    const { streams, sender, requests, onGoaway, onDone } = this.#parts;
    this.#step = 'settled';
    this.stop();
    requests.finalId = streams.lastId;
    sender.goaway(streams.lastId, ErrorCode.none);
    onGoaway();
    if (streams.open.size === 0) onDone();
  }
}
