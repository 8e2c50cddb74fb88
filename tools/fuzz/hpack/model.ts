/** A peer that writes header blocks in every way that RFC 7541 allows, and knows which fields they have. */
import {
  STATIC_END,
  STATIC_NAMES,
  STATIC_VALUES,
} from '../../../src/gateway/http2/hpack/static-table.ts';
import { integer } from '../../../test/support/hpack.ts';
import type { Random } from '../../../test/support/random.ts';
import { huffman } from './huffman.ts';

/** One character per byte. */
export type Field = readonly [name: string, value: string];

export interface Block {
  readonly bytes: Buffer;
  readonly fields: readonly Field[];
}

const NAMES = ['x-request-id', 'te', 'cookie', ':path', '', 'grpc-timeout', 'x'.repeat(200)];
const MOST_FIELDS = 12;

export class ModelPeer {
  readonly #random: Random;
  readonly #maxTableBytes: number;
  #tableBytes = 4_096;
  /** The newest comes first. */
  #entries: Field[] = [];

  constructor(random: Random, maxTableBytes: number) {
    this.#random = random;
    this.#maxTableBytes = maxTableBytes;
  }

  block(): Block {
    const sizes = this.#random.next() < 0.2 ? this.#sizes() : [];
    const written = Array.from({ length: this.#random.below(MOST_FIELDS) }, () => this.#field());
    return {
      bytes: Buffer.concat([...sizes, ...written.map(({ bytes }) => bytes)]),
      fields: written.flatMap(({ fields }) => fields),
    };
  }

  /** Refers to every entry of the table. */
  census(): Block {
    const numbers = this.#entries.map((_, i) => this.#integer(0x80, 7, STATIC_END + i));
    return { bytes: Buffer.concat(numbers), fields: [...this.#entries] };
  }

  /** Refers to the entry that would be behind the last one. */
  beyond(): Buffer {
    return this.#integer(0x80, 7, STATIC_END + this.#entries.length);
  }

  #sizes(): Buffer[] {
    return Array.from({ length: 1 + this.#random.below(3) }, () => {
      const most = this.#maxTableBytes;
      const bytes = this.#random.oneOf([0, 31, 32, 64, 100, 300, most, this.#random.below(most)]);
      this.#tableBytes = Math.min(most, bytes);
      this.#evict();
      return this.#integer(0x20, 5, this.#tableBytes);
    });
  }

  #field(): Block {
    const number = this.#number();
    if (this.#random.next() < 0.4) {
      const field = this.#at(number);
      return { bytes: this.#integer(0x80, 7, number), fields: [field] };
    }
    const [first, bits] = this.#random.oneOf([
      [0x40, 6],
      [0x40, 6],
      [0x00, 4],
      [0x10, 4],
    ] as const);
    const isNamed = this.#random.next() < 0.6;
    const name = isNamed ? this.#at(number)[0] : this.#name();
    const value = this.#value();
    const bytes = isNamed
      ? [this.#integer(first, bits, number), this.#string(value)]
      : [this.#integer(first, bits, 0), this.#string(name), this.#string(value)];
    if (first === 0x40) {
      this.#entries.unshift([name, value]);
      this.#evict();
    }
    return { bytes: Buffer.concat(bytes), fields: [[name, value]] };
  }

  /** Of a field in one of the tables. */
  #number(): number {
    const isDynamic = this.#entries.length > 0 && this.#random.next() < 0.6;
    return isDynamic
      ? STATIC_END + this.#random.below(this.#entries.length)
      : 1 + this.#random.below(STATIC_END - 1);
  }

  #at(number: number): Field {
    return number < STATIC_END
      ? [STATIC_NAMES[number] as string, STATIC_VALUES[number] as string]
      : (this.#entries[number - STATIC_END] as Field);
  }

  #name(): string {
    return this.#random.next() < 0.8 ? this.#random.oneOf(NAMES) : this.#bytes(30);
  }

  #value(): string {
    const kind = this.#random.next();
    if (kind < 0.4) return this.#bytes(40);
    if (kind < 0.7) return 'a'.repeat(this.#random.below(60));
    if (kind < 0.95) return String(this.#random.below(1_000_000_000));
    return 'x'.repeat(this.#random.below(6_000));
  }

  #bytes(most: number): string {
    const codes = Array.from({ length: this.#random.below(most) }, () => this.#random.below(256));
    return String.fromCharCode(...codes);
  }

  #string(text: string): Buffer {
    const plain = Buffer.from(text, 'latin1');
    if (this.#random.next() < 0.5) return Buffer.concat([this.#integer(0, 7, plain.length), plain]);
    const coded = huffman(plain);
    return Buffer.concat([this.#integer(0x80, 7, coded.length), coded]);
  }

  /** Sometimes with more bytes than it needs: five at most. */
  #integer(first: number, bits: number, value: number): Buffer {
    const bytes = integer(first, bits, value);
    if (bytes.length === 1 || this.#random.next() < 0.8) return bytes;
    const more = this.#random.below(6 - bytes.length);
    if (more === 0) return bytes;
    const last = bytes.length - 1;
    bytes[last] = (bytes[last] as number) | 0x80;
    return Buffer.concat([bytes, Buffer.alloc(more - 1, 0x80), Buffer.alloc(1)]);
  }

  /** Drops the oldest entries: section 4.3. */
  #evict(): void {
    const bytesOf = ([name, value]: Field) => name.length + value.length + 32;
    let bytes = this.#entries.reduce((sum, entry) => sum + bytesOf(entry), 0);
    while (bytes > this.#tableBytes) bytes -= bytesOf(this.#entries.pop() as Field);
  }
}
