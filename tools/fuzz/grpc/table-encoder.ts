/** Writes valid header blocks in many ways, with a dynamic table: https://www.rfc-editor.org/rfc/rfc7541 */
import { integer } from '../../../test/support/hpack.ts';
import type { Random } from '../../../test/support/random.ts';
import { type Field, HUFFMAN_AUTHORITY, string } from './hpack.ts';

const STATIC_ENTRIES = 61;
/** RFC 7541, section 4.1. */
const ENTRY_OVERHEAD = 32;
const NAMED: Readonly<Record<string, number>> = { ':authority': 1, ':path': 4, 'content-type': 31 };
const WHOLE: Readonly<Record<string, number>> = { ':method POST': 3, ':scheme http': 6 };
const WITHOUT_INDEX = 0x00;
const NEVER_INDEXED = 0x10;
const ADDED = 0x40;
const INDEXED = 0x80;

export class TableEncoder {
  readonly #random: Random;
  /** The newest first. */
  readonly #entries: Field[] = [];
  #bytes = 0;
  #size = 4_096;
  readonly #sizes: number[] = [];

  constructor(random: Random) {
    this.#random = random;
  }

  /** The next block says so. At most what the server allows. */
  resize(size: number): void {
    this.#sizes.push(size);
  }

  block(fields: readonly Field[]): Buffer {
    const sizes = this.#sizes.splice(0);
    for (const size of sizes) {
      this.#size = size;
      this.#evict();
    }
    const updates = sizes.map((size) => integer(0x20, 5, size));
    return Buffer.concat([...updates, ...fields.map((each) => this.#field(each))]);
  }

  /** The authority of Istio's clusters in the Huffman code. Its entry is as long as the text that it stands for. */
  huffmanAuthority(): Buffer {
    this.#add([':authority', 'outbound|8081||ratelimit.default.svc.cluster.local']);
    return HUFFMAN_AUTHORITY;
  }

  #field(field: Field): Buffer {
    const [name, value] = field;
    const index = this.#indexOf(([n, v]) => n === name && v === value) ?? WHOLE[`${name} ${value}`];
    if (index !== undefined && this.#random.next() < 0.85) return integer(INDEXED, 7, index);
    const kind = this.#random.oneOf([WITHOUT_INDEX, NEVER_INDEXED, ADDED, ADDED]);
    const named = this.#indexOf(([n]) => n === name) ?? NAMED[name];
    const bits = kind === ADDED ? 6 : 4;
    const usesName = named !== undefined && this.#random.next() < 0.8;
    const bytes = usesName
      ? [integer(kind, bits, named), string(value)]
      : [integer(kind, bits, 0), string(name), string(value)];
    if (kind === ADDED) this.#add(field);
    return Buffer.concat(bytes);
  }

  #indexOf(isIt: (field: Field) => boolean): number | undefined {
    const at = this.#entries.findIndex(isIt);
    return at === -1 ? undefined : STATIC_ENTRIES + 1 + at;
  }

  #add(field: Field): void {
    this.#entries.unshift(field);
    this.#bytes += bytesOf(field);
    this.#evict();
  }

  #evict(): void {
    while (this.#bytes > this.#size) {
      const oldest = this.#entries.pop();
      if (oldest === undefined) return;
      this.#bytes -= bytesOf(oldest);
    }
  }
}

const bytesOf = ([name, value]: Field) => name.length + value.length + ENTRY_OVERHEAD;
