/** Cuts a stream of bytes into chunks of whole lines. */
import { MAX_LINE_BYTES } from './log-chunk.ts';

const LINE_FEED = 10;

export class LineCutter {
  #parts: Buffer[] = [];
  #length = 0;
  #hasLineBreak = false;
  /** In a line that is too long: the rest of it is dropped. */
  #isSkipping = false;

  add(piece: Buffer): void {
    const kept = this.#isSkipping ? this.#afterSkipped(piece) : piece;
    if (kept.length === 0) return;
    this.#parts.push(kept);
    this.#length += kept.length;
    this.#hasLineBreak ||= kept.includes(LINE_FEED);
    if (!this.#hasLineBreak && this.#length > MAX_LINE_BYTES)
      this.#keep(Buffer.concat(this.#parts));
  }

  /** Whether a chunk of this length could be taken. */
  has(bytes: number): boolean {
    return this.#hasLineBreak && this.#length >= bytes;
  }

  /** Up to the last line break. What follows it is kept for the next chunk. */
  take(): Buffer {
    const all = Buffer.concat(this.#parts);
    const end = all.lastIndexOf(LINE_FEED) + 1;
    this.#keep(all.subarray(end));
    return all.subarray(0, end);
  }

  /** All that is left; the last line may have no line break. */
  takeRest(): Buffer {
    const rest = Buffer.concat(this.#parts);
    this.#keep(Buffer.alloc(0));
    return rest;
  }

  /** Keeps the beginning of a line, and no more of it than shows that it is too long. */
  #keep(line: Buffer): void {
    this.#isSkipping = line.length > MAX_LINE_BYTES;
    // A copy, so that the chunk that it comes from can be freed or sent to a thread.
    const kept = Buffer.from(line.subarray(0, MAX_LINE_BYTES + 1));
    this.#parts = kept.length === 0 ? [] : [kept];
    this.#length = kept.length;
    this.#hasLineBreak = false;
  }

  #afterSkipped(piece: Buffer): Buffer {
    const end = piece.indexOf(LINE_FEED);
    if (end < 0) return piece.subarray(0, 0);
    this.#isSkipping = false;
    return piece.subarray(end);
  }
}
