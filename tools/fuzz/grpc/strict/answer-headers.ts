/** The header blocks of a server's answers, which may be in several frames, and the size of the table that they assume. */
import { HeaderDecoder } from '../../../../src/gateway/http2/hpack/decoder.ts';
import { END_STREAM, TYPE } from '../frame-writer.ts';
import type { ReceivedFrame } from './received-frames.ts';

const END_HEADERS = 0x4;
/** The largest that a strict client allows. */
const LARGEST_TABLE = 65_536;

export interface AnswerBlock {
  readonly stream: number;
  readonly ends: boolean;
  readonly fields: ReadonlyMap<string, string>;
}

export class AnswerHeaders {
  readonly #decoder = new HeaderDecoder(LARGEST_TABLE);
  #block: { readonly stream: number; readonly ends: boolean; readonly parts: Buffer[] } | undefined;
  #tableSize = 4_096;
  /** The table was made smaller, so the next block must say so: RFC 7541, section 4.2. */
  #expectsSize = false;

  get isInsideBlock(): boolean {
    return this.#block !== undefined;
  }

  /** The server has acknowledged it. */
  resize(tableSize: number): void {
    if (tableSize < this.#tableSize) this.#expectsSize = true;
    this.#tableSize = tableSize;
  }

  /** Returns a block, what is wrong, or undefined if the block goes on. */
  take({ type, flags, stream, payload }: ReceivedFrame): AnswerBlock | string | undefined {
    if (type === TYPE.headers) {
      this.#block = { stream, ends: (flags & END_STREAM) !== 0, parts: [] };
    }
    if (this.#block === undefined || this.#block.stream !== stream) return 'a lost continuation';
    const { parts, ends } = this.#block;
    parts.push(payload);
    if ((flags & END_HEADERS) === 0) return undefined;
    this.#block = undefined;
    const block = Buffer.concat(parts);
    const hasSize = ((block[0] ?? 0) & 0xe0) === 0x20;
    if (this.#expectsSize && !hasSize) return 'no size of the table, which became smaller';
    this.#expectsSize = false;
    const fields = new Map<string, string>();
    this.#decoder.decode(block, (name, value) => fields.set(name, value));
    return { stream, ends, fields };
  }
}
