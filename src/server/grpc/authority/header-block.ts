/**
 * Replaces characters of `:authority` that Node does not accept, in the header block of a request.
 * Format of a block: https://www.rfc-editor.org/rfc/rfc7541#section-6
 */
import { decodeHuffman } from './huffman.ts';

/** nghttp2, with which Node reads HTTP/2, resets a request whose `:authority` has other characters. */
const NOT_ACCEPTED = /[^!$%&'()*+,\-.:;=@[\]_~0-9A-Za-z]/g;
/** In HPACK's static table. */
const AUTHORITY = 1;
/** Longer names are left as they are. Less than 127, so that the length of a repaired one takes one byte. */
const LONGEST = 126;

/** The block with an `:authority` that Node accepts. Undefined if Node accepts the block as it is, or it cannot be read. */
export function repairBlock(block: Buffer): Buffer | undefined {
  const reader = new BlockReader(block);
  while (!reader.isAtEnd) {
    const first = block[reader.at] as number;
    if (first >= 0x80) reader.integer(7);
    else if (first >= 0x20 && first < 0x40) reader.integer(5);
    else {
      const start = reader.at;
      const name = reader.integer(first >= 0x40 ? 6 : 4);
      if (name === 0) reader.string();
      const nameEnd = reader.at;
      const value = reader.string();
      if (name !== AUTHORITY) continue;
      const repaired = repairedValue(value);
      if (repaired === undefined) return undefined;
      const field = Buffer.concat([block.subarray(start, nameEnd), repaired]);
      return Buffer.concat([block.subarray(0, start), field, block.subarray(reader.at)]);
    }
  }
  return undefined;
}

interface HeaderString {
  readonly isHuffman: boolean;
  readonly bytes: Buffer;
}

/** As long as before, so that sender and receiver drop the same entries of HPACK's dynamic table. */
function repairedValue({ isHuffman, bytes }: HeaderString): Buffer | undefined {
  if (bytes.length > LONGEST) return undefined;
  const text = isHuffman ? decodeHuffman(bytes) : bytes.toString('latin1');
  const repaired = text?.replace(NOT_ACCEPTED, '_');
  if (repaired === undefined || repaired === text || repaired.length > LONGEST) return undefined;
  return Buffer.from(`${String.fromCharCode(repaired.length)}${repaired}`, 'latin1');
}

/** At the end of a block that is cut off, its numbers are 0 and its strings are short. */
class BlockReader {
  readonly #block: Buffer;
  at = 0;

  constructor(block: Buffer) {
    this.#block = block;
  }

  get isAtEnd(): boolean {
    return this.at >= this.#block.length;
  }

  /** A number that begins in the last `bits` bits of the next byte. */
  integer(bits: number): number {
    const most = (1 << bits) - 1;
    let value = this.#byte() & most;
    if (value < most) return value;
    for (let shift = 0; shift < 28; shift += 7) {
      const byte = this.#byte();
      value += (byte & 0x7f) << shift;
      if (byte < 0x80) break;
    }
    return value;
  }

  string(): HeaderString {
    const isHuffman = !this.isAtEnd && (this.#block[this.at] as number) >= 0x80;
    const length = this.integer(7);
    const bytes = this.#block.subarray(this.at, this.at + length);
    this.at += length;
    return { isHuffman, bytes };
  }

  #byte(): number {
    return this.#block[this.at++] ?? 0;
  }
}
