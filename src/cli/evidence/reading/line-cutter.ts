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
  /** Where the last line break is, or -1. */
  #lastBreak = -1;
  #isSkipping = false;
  hasDropped = false;

  add(piece: Buffer): void {
    const kept = this.#isSkipping ? this.#afterSkipped(piece) : this.#withoutNuls(piece);
    if (kept.length === 0) return;
    const lastBreak = kept.lastIndexOf(LINE_FEED);
    if (lastBreak >= 0) this.#lastBreak = this.#length + lastBreak;
    this.#parts.push(kept);
    this.#length += kept.length;
    if (this.#lastBreak < 0 && this.#length > MAX_LINE_BYTES) this.#keep(this.#joined());
  }

  /** Whether `take` knows where to cut. */
  has(bytes: number): boolean {
    const hasLongLine = this.#lastBreak >= 0 && this.#length >= bytes + MAX_LINE_BYTES;
    return this.#lastBreak >= bytes - 1 || hasLongLine;
  }

  /** Takes bytes up to the first line break after so many, or up to the one before a long line: however they came. */
  take(bytes: number): Buffer {
    const all = this.#joined();
    const next = all.indexOf(LINE_FEED, bytes - 1);
    const isNear = next >= 0 && next < bytes + MAX_LINE_BYTES;
    const end = isNear ? next + 1 : all.lastIndexOf(LINE_FEED, bytes - 1) + 1 || next + 1;
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
    this.#lastBreak = rest.lastIndexOf(LINE_FEED);
    this.#isSkipping = this.#lastBreak < 0 && rest.length > MAX_LINE_BYTES;
    this.hasDropped ||= this.#isSkipping;
    const kept = this.#isSkipping ? copyOf(rest.subarray(0, MAX_LINE_BYTES + 1)) : rest;
    this.#parts = kept.length === 0 ? [] : [kept];
    this.#length = kept.length;
  }

  /** Log rotation may leave megabytes of NULs where a log begins. */
  #withoutNuls(piece: Buffer): Buffer {
    if (this.#length > 0 || piece[0] !== 0) return piece;
    const end = piece.findIndex((byte) => byte !== 0);
    this.hasDropped = true;
    return piece.subarray(end < 0 ? piece.length : end);
  }

  #afterSkipped(piece: Buffer): Buffer {
    const end = piece.indexOf(LINE_FEED);
    if (end < 0) return piece.subarray(0, 0);
    this.#isSkipping = false;
    return piece.subarray(end);
  }
}

/** A part that is not copied would keep the whole in memory. */
const copyOf = (bytes: Buffer) => Buffer.from(new Uint8Array(bytes).buffer);
