/** Writes header blocks that need no other block: https://www.rfc-editor.org/rfc/rfc7541#section-6 */
import { STATIC_END, STATIC_NAMES, STATIC_VALUES } from './static-table.ts';

/**
 * Begins the next block after the peer has changed SETTINGS_HEADER_TABLE_SIZE: section 4.2. The blocks written here add
 * nothing to the peer's table, so it may as well have no bytes.
 */
export const TABLE_SIZE_ZERO = Buffer.of(0x20);

const INDEXED = 0x80;
const NOT_ADDED = 0x00;
/** The bytes of the numbers in one field: its index, and the lengths of its name and its value. */
const MOST_BYTES_OF_NUMBERS = 1 + 5 + 5;

/** The numbers of a name in the static table. */
interface Numbers {
  readonly first: number;
  readonly byValue: Map<string, number>;
}

const NUMBERS = new Map<string, Numbers>();
for (let index = 1; index < STATIC_END; index++) {
  const name = STATIC_NAMES[index] as string;
  const numbers = NUMBERS.get(name) ?? { first: index, byValue: new Map<string, number>() };
  NUMBERS.set(name, numbers);
  numbers.byValue.set(STATIC_VALUES[index] as string, index);
}

/** Names are in lower case. Texts have one character per byte. */
export function encodeFields(fields: readonly (readonly [name: string, value: string])[]): Buffer {
  let most = 0;
  for (const [name, value] of fields) most += MOST_BYTES_OF_NUMBERS + name.length + value.length;
  const writer = new BlockWriter(most);
  for (const [name, value] of fields) {
    const numbers = NUMBERS.get(name);
    const whole = numbers?.byValue.get(value);
    if (whole !== undefined) {
      writer.integer(INDEXED, 7, whole);
      continue;
    }
    writer.integer(NOT_ADDED, 4, numbers?.first ?? 0);
    if (numbers === undefined) writer.string(name);
    writer.string(value);
  }
  return writer.written();
}

class BlockWriter {
  readonly #bytes: Buffer;
  #at = 0;

  constructor(most: number) {
    this.#bytes = Buffer.allocUnsafe(most);
  }

  /** `first` has the bits before the number, which begins in the last `bits` bits of the same byte: section 5.1. */
  integer(first: number, bits: number, value: number): void {
    const most = (1 << bits) - 1;
    if (value < most) {
      this.#bytes[this.#at++] = first | value;
      return;
    }
    this.#bytes[this.#at++] = first | most;
    let rest = value - most;
    for (; rest >= 0x80; rest >>>= 7) this.#bytes[this.#at++] = (rest & 0x7f) | 0x80;
    this.#bytes[this.#at++] = rest;
  }

  string(text: string): void {
    this.integer(0, 7, text.length);
    this.#at += this.#bytes.write(text, this.#at, 'latin1');
  }

  written(): Buffer {
    return this.#bytes.subarray(0, this.#at);
  }
}
