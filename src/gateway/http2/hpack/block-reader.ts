/** Reads the numbers and strings of a header block: https://www.rfc-editor.org/rfc/rfc7541#section-5 */
import { ConnectionError, ErrorCode } from '../frames.ts';
import { decodeHuffman } from './huffman.ts';

/** A header block that cannot be read. The two tables then differ, so the connection must end: RFC 9113, section 4.3. */
export class CompressionError extends ConnectionError {}

const HUFFMAN = 0x80;
/** Each has seven bits. So numbers stay below 2^29, and no block, table or setting of headgate has so many bytes. */
const MOST_MORE_BYTES = 4;

export class BlockReader {
  readonly #block: Buffer;
  /** The place of the next byte. */
  at = 0;

  constructor(block: Buffer) {
    this.#block = block;
  }

  /** A number that begins in the last `bits` bits of the next byte, which must exist. */
  integer(bits: number): number {
    const most = (1 << bits) - 1;
    let value = (this.#block[this.at++] as number) & most;
    if (value < most) return value;
    for (let shift = 0; shift < 7 * MOST_MORE_BYTES; shift += 7) {
      const byte = this.#block[this.at];
      if (byte === undefined) throw this.mistake('the block ends within a number');
      this.at++;
      value += (byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
    throw this.mistake(`a number has more than ${MOST_MORE_BYTES + 1} bytes`);
  }

  /** It has one character per byte, and keeps no memory of the block. */
  string(): string {
    const first = this.#block[this.at];
    if (first === undefined) throw this.mistake('the block ends before a string');
    const end = this.integer(7) + this.at;
    if (end > this.#block.length) throw this.mistake('the block ends within a string');
    const text =
      first < HUFFMAN
        ? this.#block.toString('latin1', this.at, end)
        : decodeHuffman(this.#block, this.at, end);
    if (text === undefined) throw this.mistake('a string is no Huffman code');
    this.at = end;
    return text;
  }

  /** What is wrong at this place. */
  mistake(what: string): CompressionError {
    return new CompressionError(
      ErrorCode.compression,
      `HPACK, byte ${this.at} of a header block: ${what}`,
    );
  }
}
