/** Percent-encoding as the most lenient server reads it, and whether servers would agree on it. */

export interface Decoded {
  readonly text: string;
  /** An invalid escape, overlong UTF-8 or too many layers of escapes: no two servers agree on it. */
  readonly suspicious: boolean;
}

const MAX_ROUNDS = 3;
const ESCAPE = /%[0-9a-f]{2}/i;

/** Decodes as often as there is something to decode, within reason, and takes every backslash for a slash. */
export function decode(raw: string): Decoded {
  // Header values come as one character a byte: what is not ASCII in them is the UTF-8 that a client did not encode.
  let text = raw.replace(/[\x80-\xff]/g, (byte) => `%${byte.charCodeAt(0).toString(16)}`);
  let suspicious = false;
  for (let round = 0; round < MAX_ROUNDS && text.includes('%'); round++) {
    const next = percentDecode(text);
    // Later rounds read what one server takes for text: `/50%25` is an honest way to write a percent sign.
    if (round === 0) suspicious = next.invalid;
    if (next.text === text) break;
    text = next.text;
  }
  return { text: text.replaceAll('\\', '/'), suspicious: suspicious || ESCAPE.test(text) };
}

/**
 * One round of percent-decoding. Invalid escapes stay as they are; overlong UTF-8 and `%u006c`, which IIS knows, are
 * read as lenient servers do.
 */
function percentDecode(text: string): { text: string; invalid: boolean } {
  let invalid = false;
  const decoded = text.replace(/(?:%[0-9a-f]{2})+|%u[0-9a-f]{4}|%/gi, (run) => {
    const isBytes = run.length > 1 && !/^%u/i.test(run);
    if (isBytes) {
      const bytes = decodeBytes(run);
      if (!bytes.valid) invalid = true;
      return bytes.text;
    }
    invalid = true;
    return run === '%' ? run : String.fromCharCode(Number.parseInt(run.slice(2), 16));
  });
  return { text: decoded, invalid };
}

/** UTF-8. Overlong forms become the characters that they hide, and what is no UTF-8 at all becomes Latin-1. */
function decodeBytes(run: string): { text: string; valid: boolean } {
  let text = '';
  let valid = true;
  for (let i = 0; i < run.length; ) {
    const lead = byteAt(run, i);
    const length = sequenceLength(lead);
    let code = length === 1 ? lead : lead & (0x7f >> length);
    for (let k = 1; k < length; k++) {
      const byte = byteAt(run, i + k * ESCAPE_LENGTH);
      code = (byte & 0xc0) === 0x80 ? code * 64 + (byte & 0x3f) : Number.NaN;
    }
    const isCharacter = code <= 0x10ffff && (length > 1 || lead < 0x80);
    if (!isCharacter || isOverlong(code, length) || (code >= 0xd800 && code <= 0xdfff))
      valid = false;
    text += String.fromCodePoint(isCharacter ? code : lead);
    i += (isCharacter ? length : 1) * ESCAPE_LENGTH;
  }
  return { text, valid };
}

/** `%6c` */
const ESCAPE_LENGTH = 3;

function byteAt(run: string, index: number): number {
  return Number.parseInt(run.slice(index + 1, index + ESCAPE_LENGTH), 16);
}

/** What a lead byte announces, up to the six bytes of RFC 2279; 1 for a byte that is no lead. */
function sequenceLength(lead: number): number {
  return lead < 0xc0 || lead > 0xfd ? 1 : Math.clz32(~(lead << 24));
}

/** The least code points that need two, three and four bytes (RFC 3629, section 3). No character needs more. */
const LEAST_CODES = [0, 0, 0x80, 0x800, 0x10000];

function isOverlong(code: number, length: number): boolean {
  return code < (LEAST_CODES[length] ?? Number.POSITIVE_INFINITY);
}
