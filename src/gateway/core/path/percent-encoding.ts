/**
 * Decodes percent-encoding as the most lenient server does, and reports what other servers cannot decode.
 *
 * It uses no patterns: a callback for each match costs five times as much, and bots send targets full of escapes to keep
 * a gateway busy.
 */

export interface Decoded {
  readonly text: string;
  /** The number of places that servers read differently: invalid escapes, bytes that are not UTF-8, many layers. */
  readonly unclearPlaces: number;
}

/** What takes the place of bytes that cannot be decoded. By default it is what the most lenient server reads. */
export interface Replacements {
  /** Replaces bytes that are not UTF-8, and halves of surrogate pairs. */
  readonly bytes?: string;
  /** Replaces what only some servers decode: overlong UTF-8, and `%u006c`. */
  readonly odd?: string;
  readonly stray?: string;
}

const MAX_ROUNDS = 3;
const ESCAPE = /%[0-9a-f]{2}/i;
const RAW_BYTE = /[\x80-\xff]/;

const LENIENT: Replacements = {};

/** Decodes up to three layers of escapes, and reads every backslash as a slash. */
export function decode(raw: string, replacements = LENIENT): Decoded {
  let text = raw;
  let unclearPlaces = 0;
  for (let round = 0; round < MAX_ROUNDS; round++) {
    // Header values have one character per byte. Bytes beyond ASCII are UTF-8 that the client did not escape.
    const readsRawBytes = round === 0 && RAW_BYTE.test(text);
    if (!readsRawBytes && !text.includes('%')) break;
    const next = percentDecode(text, readsRawBytes, replacements);
    unclearPlaces = Math.max(unclearPlaces, next.unclearPlaces);
    if (next.text === text) break;
    text = next.text;
  }
  if (ESCAPE.test(text)) unclearPlaces ||= 1;
  return { text: text.replace(/\\/g, '/'), unclearPlaces };
}

/**
 * One round. Without replacements, invalid escapes stay as they are, overlong UTF-8 becomes the characters that it
 * encodes, invalid UTF-8 becomes Latin-1, and `%u006c` is decoded as IIS does.
 */
function percentDecode(
  text: string,
  readsRawBytes: boolean,
  { bytes, odd, stray }: Replacements,
): Decoded {
  let decoded = '';
  let copiedTo = 0;
  let unclearPlaces = 0;
  let unclearTo = -1;
  // What a stray sign may take with it belongs to its place.
  const unclear = (from: number, to: number) => {
    if (from > unclearTo) unclearPlaces++;
    unclearTo = to;
  };
  for (let i = 0; i < text.length; ) {
    const lead = byteAt(text, i, readsRawBytes);
    const unicode = lead === NO_BYTE ? unicodeEscapeAt(text, i) : NO_BYTE;
    if (lead === NO_BYTE && unicode === NO_BYTE) {
      if (text.charCodeAt(i) === PERCENT) {
        unclear(i, i + ESCAPE_LENGTH);
        if (stray !== undefined) {
          decoded += text.slice(copiedTo, i) + stray;
          copiedTo = i + 1;
        }
      }
      i++;
      continue;
    }
    decoded += text.slice(copiedTo, i);
    if (unicode !== NO_BYTE) {
      unclear(i, i + UNICODE_ESCAPE_LENGTH);
      decoded += (isSurrogate(unicode) ? bytes : odd) ?? String.fromCharCode(unicode);
      i += UNICODE_ESCAPE_LENGTH;
    } else {
      const length = sequenceLength(lead);
      let code = length === 1 ? lead : lead & (0x7f >> length);
      let end = i + widthAt(text, i);
      for (let k = 1; k < length; k++) {
        const byte = byteAt(text, end, readsRawBytes);
        code = (byte & 0xc0) === 0x80 ? code * 64 + (byte & 0x3f) : Number.NaN;
        end += widthAt(text, end);
      }
      const isCharacter = code <= 0x10ffff && (length > 1 || lead < 0x80);
      const isOdd = isOverlong(code, length);
      const isBroken = !isCharacter || isSurrogate(code);
      if (isBroken || isOdd) unclear(i, isBroken ? i + widthAt(text, i) : end);
      const replacement = isBroken ? bytes : isOdd ? odd : undefined;
      decoded += replacement ?? String.fromCodePoint(isCharacter ? code : lead);
      i = isCharacter ? end : i + widthAt(text, i);
    }
    copiedTo = i;
  }
  return { text: decoded + text.slice(copiedTo), unclearPlaces };
}

const PERCENT = 0x25;
/** `%6c` */
const ESCAPE_LENGTH = 3;
/** `%u006c` */
const UNICODE_ESCAPE_LENGTH = 6;
const NO_BYTE = -1;

/** The value of each hexadecimal digit, by its character code; -1 for everything else. */
const HEX = new Int8Array(256).fill(-1);
for (const digit of '0123456789abcdefABCDEF') {
  HEX[digit.charCodeAt(0)] = Number.parseInt(digit, 16);
}

/** The byte at an index: an escape or, if `readsRawBytes`, a raw byte. NO_BYTE for any other character. */
function byteAt(text: string, index: number, readsRawBytes: boolean): number {
  const code = text.charCodeAt(index);
  if (code !== PERCENT) return readsRawBytes && code >= 0x80 && code <= 0xff ? code : NO_BYTE;
  return hexAt(text, index + 1, 2);
}

function unicodeEscapeAt(text: string, index: number): number {
  const isMarked = text.charCodeAt(index) === PERCENT && isLetterU(text.charCodeAt(index + 1));
  return isMarked ? hexAt(text, index + 2, 4) : NO_BYTE;
}

function isLetterU(code: number): boolean {
  return code === 0x75 || code === 0x55;
}

function hexAt(text: string, index: number, digits: number): number {
  let value = 0;
  for (let i = index; i < index + digits; i++) {
    const digit = HEX[text.charCodeAt(i)] ?? -1;
    if (digit === -1) return NO_BYTE;
    value = value * 16 + digit;
  }
  return value;
}

function widthAt(text: string, index: number): number {
  return text.charCodeAt(index) === PERCENT ? ESCAPE_LENGTH : 1;
}

/** The length in bytes of the sequence that a lead byte starts, up to 6 (RFC 2279); 1 for any other byte. */
function sequenceLength(lead: number): number {
  return lead < 0xc0 || lead > 0xfd ? 1 : Math.clz32(~(lead << 24));
}

/** The smallest code points that need two, three and four bytes (RFC 3629, section 3). No character needs more. */
const LEAST_CODES = [0, 0, 0x80, 0x800, 0x10000];

function isOverlong(code: number, length: number): boolean {
  return code < (LEAST_CODES[length] ?? Number.POSITIVE_INFINITY);
}

function isSurrogate(code: number): boolean {
  return code >= 0xd800 && code <= 0xdfff;
}
