/** What one connection may cost: memory, work and time. */
import { demand, ErrorCode } from './frames.ts';

/** Envoy sends this many on a new connection, where it does not know the limit yet. */
export const MAX_STREAMS = 1_024;

/**
 * How many streams a peer can reset, or have reset by its mistakes: all at once, and 1,000 a second. A reset costs its
 * sender a few bytes and the gateway a call (CVE-2023-44487, CVE-2025-8671). Envoy resets a stream if its client aborts
 * or the answer is late, and if the connection is closed, all its checks fail. So the limit is above what clients cause
 * in normal use.
 */
export const RESETS = { burst: MAX_STREAMS, perSecond: 1_000 };

/**
 * Frames that carry no part of a request: PING, SETTINGS, PRIORITY, WINDOW_UPDATE, empty DATA, unknown types. Each request
 * earns some more: grpc-go sends a PING and two WINDOW_UPDATE with an answer.
 */
export const CONTROL_FRAMES = { burst: 4_096, perSecond: 1_000 };
export const CONTROL_FRAMES_PER_REQUEST = 8;

/** Of one header block as it is sent, and of the list of its fields (RFC 9113, section 6.5.2). Envoy sends up to 60 KiB. */
export const MAX_HEADER_BYTES = 64 * 1_024;
export const MAX_FIELDS = 128;
/** A block of 64 KiB needs four. */
export const MAX_CONTINUATIONS = 8;
/** The size of the table with which peers compress headers: the default (section 6.5.2). */
export const HEADER_TABLE_BYTES = 4_096;

/** Bytes that a peer may send on a stream before it gets credit: the default, which no setting changes. */
export const STREAM_WINDOW = 65_535;
/** It bounds no memory, because bytes are credited as they arrive. */
export const CONNECTION_WINDOW = 1_024 * 1_024;
/** Bytes of requests that are not complete. */
export const MAX_UNFINISHED_BYTES = 8 * 1_024 * 1_024;

/** If so many bytes wait for a peer that reads slowly, nothing more is read from it. */
export const PAUSE_ABOVE_BYTES = 256 * 1_024;
/** If so many bytes wait for it, its connection is closed. */
export const CLOSE_ABOVE_BYTES = 16 * 1_024 * 1_024;

/** How often unfinished work is looked for. A frame, header block or ping that is still the same one then is too late. */
export const SWEEP_EVERY_MS = 10_000;
/** After so many sweeps, a request that has not ended is too late. */
export const SWEEPS_PER_REQUEST = 3;
/** After so many sweeps comes a ping. It detects peers that disappeared without closing the connection. */
export const SWEEPS_PER_PING = 6;

/** How long a peer may take to learn that it must send requests elsewhere, if it does not answer. */
export const NOTICE_MS = 250;
/** How long a peer has to read the last bytes. */
export const LINGER_MS = 1_000;

/** A token bucket: how much a peer may cause at once, and how much a second. */
export class Budget {
  readonly #limit: typeof RESETS;
  #left: number;
  #filledMs = performance.now();

  constructor(limit: typeof RESETS) {
    this.#limit = limit;
    this.#left = limit.burst;
  }

  /** Throws ConnectionError if it is too much. */
  take(count: number): void {
    if (this.#left < count) {
      const nowMs = performance.now();
      this.add(((nowMs - this.#filledMs) / 1_000) * this.#limit.perSecond);
      this.#filledMs = nowMs;
    }
    this.#left -= count;
    demand(this.#left >= 0, ErrorCode.enhanceYourCalm);
  }

  add(count: number): void {
    this.#left = Math.min(this.#limit.burst, this.#left + count);
  }
}
