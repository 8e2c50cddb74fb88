/** Cuts a stream of bytes into chunks of whole lines. */

export interface LogChunk {
  readonly source: number;
  readonly bytes: Uint8Array;
  readonly isLast: boolean;
}

/** Longer lines are counted as misread, and cut: they are never in memory as a whole. */
export const MAX_LINE_BYTES = 65_536;

const LINE_FEED = 10;

export class LineCutter {
  #parts: Buffer[] = [];
  #length = 0;
  #hasLineBreak = false;
  #isSkipping = false;
  hasDropped = false;

  add(piece: Buffer): void {
    const kept = this.#isSkipping ? this.#afterSkipped(piece) : piece;
    if (kept.length === 0) return;
    this.#parts.push(kept);
    this.#length += kept.length;
    this.#hasLineBreak ||= kept.includes(LINE_FEED);
    if (!this.#hasLineBreak && this.#length > MAX_LINE_BYTES) this.#keep(this.#joined());
  }

  has(bytes: number): boolean {
    return this.#hasLineBreak && this.#length >= bytes;
  }

  /** Takes bytes up to the first line break after so many, or else up to the last one. */
  take(bytes: number): Buffer {
    const all = this.#joined();
    const end = all.indexOf(LINE_FEED, bytes - 1) + 1 || all.lastIndexOf(LINE_FEED) + 1;
    this.#keep(all.subarray(end));
    return copyOf(all.subarray(0, end));
  }

  takeRest(): Buffer {
    const rest = this.#joined();
    this.#keep(rest.subarray(0, 0));
    return copyOf(rest);
  }

  #joined(): Buffer {
    const [only] = this.#parts;
    return only !== undefined && this.#parts.length === 1 ? only : Buffer.concat(this.#parts);
  }

  #keep(rest: Buffer): void {
    this.#hasLineBreak = rest.includes(LINE_FEED);
    this.#isSkipping = !this.#hasLineBreak && rest.length > MAX_LINE_BYTES;
    this.hasDropped ||= this.#isSkipping;
    const kept = this.#isSkipping ? copyOf(rest.subarray(0, MAX_LINE_BYTES + 1)) : rest;
    this.#parts = kept.length === 0 ? [] : [kept];
    this.#length = kept.length;
  }

  #afterSkipped(piece: Buffer): Buffer {
    const end = piece.indexOf(LINE_FEED);
    if (end < 0) return piece.subarray(0, 0);
    this.#isSkipping = false;
    return piece.subarray(end);
  }
}

/** A part without memory of its own would keep the whole. */
const copyOf = (bytes: Buffer) => Buffer.from(new Uint8Array(bytes).buffer);
