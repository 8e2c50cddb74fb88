/** How the latest streams were closed, which says what a late frame means: RFC 9113, section 5.1. */

export const Closed = {
  /** Both sides have ended it. */
  finished: 1,
  byPeer: 2,
  /** Its frames may be on their way. */
  byUs: 3,
} as const;

/** As many as can be open, in 4 KiB. */
const KEPT = 1_024;

export class ClosedStreams {
  /** An id that is halved fits into 30 bits, and leaves two for the reason. */
  #entries: Uint32Array | undefined;

  add(stream: number, reason: number): void {
    this.#entries ??= new Uint32Array(KEPT);
    const half = stream >>> 1;
    this.#entries[half % KEPT] = (half << 2) | reason;
  }

  /** Undefined for a stream that was closed long ago, or was never open. */
  reasonOf(stream: number): number | undefined {
    const half = stream >>> 1;
    const entry = this.#entries?.[half % KEPT] ?? 0;
    return entry !== 0 && entry >>> 2 === half ? entry & 3 : undefined;
  }
}
