/** Writes header blocks that no state connects: https://www.rfc-editor.org/rfc/rfc7541#section-6 */
import { STATIC_END, STATIC_NAMES, STATIC_VALUES } from './static-table.ts';

/**
 * Begins the next block after the peer has changed SETTINGS_HEADER_TABLE_SIZE: section 4.2. The blocks written here add
 * nothing to the peer's table, so it may as well have no bytes.
 */
export const TABLE_SIZE_ZERO = Buffer.of(0x20);

const INDEXED = 0x80;
const NOT_ADDED = 0x00;

const WHOLE = new Map<string, number>();
const NAMED = new Map<string, number>();
for (let index = STATIC_END - 1; index > 0; index--) {
  const name = STATIC_NAMES[index] as string;
  WHOLE.set(keyOf(name, STATIC_VALUES[index] as string), index);
  NAMED.set(name, index);
}

/** Names are in lower case. Texts have one character per byte. */
export function encodeFields(fields: readonly (readonly [name: string, value: string])[]): Buffer {
  return Buffer.concat(
    fields.flatMap(([name, value]) => {
      const whole = WHOLE.get(keyOf(name, value));
      if (whole !== undefined) return [integer(INDEXED, 7, whole)];
      const named = NAMED.get(name);
      return named === undefined
        ? [integer(NOT_ADDED, 4, 0), ...string(name), ...string(value)]
        : [integer(NOT_ADDED, 4, named), ...string(value)];
    }),
  );
}

function keyOf(name: string, value: string): string {
  return `${name}\0${value}`;
}

function string(text: string): Buffer[] {
  return [integer(0, 7, text.length), Buffer.from(text, 'latin1')];
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
