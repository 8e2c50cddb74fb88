/** Reads strings in the Huffman code of HTTP/2 headers: https://www.rfc-editor.org/rfc/rfc7541#appendix-B */

/** Stands for the backslash, controls and bytes above 7F, which no host name has. */
const OTHER = '\x7f';

/** The characters whose code has so many bits, in the order of their codes. */
const BY_LENGTH: Readonly<Record<number, string>> = {
  5: '012aceiost',
  6: ' %-./3456789=A_bdfghlmnpru',
  7: ':BCDEFGHIJKLMNOPQRSTUVWYjkqvwxyz',
  8: '&*,;XZ',
  10: '!"()?',
  11: "'+|",
  12: '#>',
  13: '\0$@[]~',
  14: '^}',
  15: '<`{',
  ...others({ 19: 3, 20: 8, 21: 13, 22: 26, 23: 29, 24: 12, 25: 4, 26: 15, 27: 19, 28: 29, 30: 3 }),
};
const LONGEST = 30;
/** The codes of each length are consecutive numbers, which begin here. Index: length in bits. */
const FIRST_CODES = firstCodes();

/** Characters with a code of more than 15 bits become 7F. Undefined if the bytes are no such code. */
export function decodeHuffman(bytes: Uint8Array): string | undefined {
  let text = '';
  let code = 0;
  let length = 0;
  for (const byte of bytes) {
    for (let bit = 7; bit >= 0; bit--) {
      code = (code << 1) | ((byte >> bit) & 1);
      length++;
      const character = BY_LENGTH[length]?.[code - (FIRST_CODES[length] ?? 0)];
      if (character !== undefined) {
        text += character;
        code = 0;
        length = 0;
      } else if (length > LONGEST) return undefined;
    }
  }
  // The rest of the last byte is filled up with ones.
  return length < 8 ? text : undefined;
}

/** How many codes of each length belong to characters that headgate does not distinguish. */
function others(counts: Readonly<Record<number, number>>): Record<number, string> {
  return Object.fromEntries(
    Object.entries(counts).map(([length, count]) => [length, OTHER.repeat(count)]),
  );
}

function firstCodes(): number[] {
  const first: number[] = [];
  let next = 0;
  for (let length = 1; length <= LONGEST; length++) {
    next <<= 1;
    first[length] = next;
    next += BY_LENGTH[length]?.length ?? 0;
  }
  return first;
}
