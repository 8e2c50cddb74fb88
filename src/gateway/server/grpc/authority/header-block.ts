/**
 * Replaces characters of `:authority` that Node does not accept, in the header block of a request. A block can add the
 * field to HPACK's dynamic table, and later blocks refer to it there. So each one that is written out is repaired, and
 * references then yield the repaired one.
 *
 * Format of a block: https://www.rfc-editor.org/rfc/rfc7541#section-6
 */
import { decodeHuffman } from './huffman.ts';

/** nghttp2, with which Node reads HTTP/2, resets a request whose `:authority` has other characters. */
const NOT_ACCEPTED = /[^!$%&'()*+,\-.:;=@[\]_~0-9A-Za-z]/g;
const NAME = ':authority';
const NAME_IN_HUFFMAN_BYTES = 8;
const STATIC_INDEX = 1;

/** The block with an `:authority` that Node accepts. Undefined if Node accepts the block as it is, or it cannot be read. */
export function repairBlock(block: Buffer): Buffer | undefined {
  const reader = new BlockReader(block);
  const done: Buffer[] = [];
  /** `done` has the bytes up to here. */
  let copied = 0;
  while (!reader.isAtEnd) {
    const first = block[reader.at] as number;
    if (first >= 0x80) reader.integer(7);
    else if (first >= 0x20 && first < 0x40) reader.integer(5);
    else {
      const name = reader.integer(first >= 0x40 ? 6 : 4);
      const isAuthority = name === STATIC_INDEX || (name === 0 && isName(reader.string()));
      const valueAt = reader.at;
      const value = reader.string();
      const repaired = isAuthority ? repairedValue(value) : undefined;
      if (repaired === undefined) continue;
      done.push(block.subarray(copied, valueAt), lengthOf(repaired), repaired);
      copied = reader.at;
    }
  }
  return done.length === 0 ? undefined : Buffer.concat([...done, block.subarray(copied)]);
}

interface HeaderString {
  readonly isHuffman: boolean;
  readonly bytes: Buffer;
}

/** Libraries that do not use the static table write the name out. */
function isName({ isHuffman, bytes }: HeaderString): boolean {
  if (bytes.length !== (isHuffman ? NAME_IN_HUFFMAN_BYTES : NAME.length)) return false;
  return textOf({ isHuffman, bytes }) === NAME;
}

/** It stays as long as it was, so that sender and receiver drop the same entries of HPACK's dynamic table. */
function repairedValue(value: HeaderString): Buffer | undefined {
  const text = textOf(value);
  const repaired = text?.replace(NOT_ACCEPTED, '_');
  if (repaired === undefined || repaired === text) return undefined;
  return Buffer.from(repaired, 'latin1');
}

function textOf({ isHuffman, bytes }: HeaderString): string | undefined {
  return isHuffman ? decodeHuffman(bytes) : bytes.toString('latin1');
}

/** The length of a string without Huffman code: section 5.1. */
function lengthOf({ length }: Buffer): Buffer {
  const most = 0x7f;
  if (length < most) return Buffer.from([length]);
  const bytes = [most];
  for (let rest = length - most; ; rest >>= 7) {
    if (rest < 0x80) return Buffer.from([...bytes, rest]);
    bytes.push((rest & 0x7f) | 0x80);
  }
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
