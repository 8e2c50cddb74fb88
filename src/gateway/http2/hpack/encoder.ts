/** Writes header blocks that need no other block: https://www.rfc-editor.org/rfc/rfc7541#section-6 */
import { STATIC_END, STATIC_NAMES, STATIC_VALUES } from './static-table.ts';

/**
 * Begins the next block after the peer has changed SETTINGS_HEADER_TABLE_SIZE: section 4.2. The blocks written here add
 * nothing to the peer's table, so it may as well have no bytes.
 */
export const TABLE_SIZE_ZERO = Buffer.of(0x20);

/** What the first bytes of fields begin with. The rest of these bytes begins a number. */
const INDEXED = 0x80;
const NOT_ADDED = 0x00;

/** Names are in lower case. Texts have one character per byte. */
export function encodeFields(fields: readonly (readonly [name: string, value: string])[]): Buffer {
  return Buffer.concat(fields.flatMap(([name, value]) => fieldOf(name, value)));
}

function fieldOf(name: string, value: string): Buffer[] {
  for (let index = 1; index < STATIC_END; index++) {
    if (STATIC_NAMES[index] === name && STATIC_VALUES[index] === value) {
      return [integer(INDEXED, 7, index)];
    }
  }
  const named = STATIC_NAMES.indexOf(name, 1);
  if (named > 0) return [integer(NOT_ADDED, 4, named), ...text(value)];
  return [integer(NOT_ADDED, 4, 0), ...text(name), ...text(value)];
}

/** `first` has the bits before the number, which begins in the last `bits` bits of the same byte: section 5.1. */
function integer(first: number, bits: number, value: number): Buffer {
  const most = (1 << bits) - 1;
  if (value < most) return Buffer.of(first | value);
  const bytes = [first | most];
  let rest = value - most;
  for (; rest >= 0x80; rest >>>= 7) bytes.push((rest & 0x7f) | 0x80);
  return Buffer.of(...bytes, rest);
}

/** A string without the Huffman code: section 5.2. */
function text(characters: string): Buffer[] {
  return [integer(0, 7, characters.length), Buffer.from(characters, 'latin1')];
}
