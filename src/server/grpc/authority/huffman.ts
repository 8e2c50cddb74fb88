/** Reads strings in the Huffman code of HTTP/2 headers: https://www.rfc-editor.org/rfc/rfc7541#appendix-B */

/** The characters whose code has so many bits, in the order of their codes. Longer codes do not occur in host names. */
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
};
const LONGEST = 15;

/** The codes of each length are consecutive numbers, which begin here. Index: length in bits. */
const FIRST_CODES = firstCodes();

/** Undefined if a character has a longer code. */
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
