/** Reads headers that may occur once, and tells which values an application could read differently. */
import type { HeaderFields } from '../check-request.ts';

/** No key, token or address has more characters. Hashing a longer value would cost more than the whole check. */
export const MAX_VALUE_LENGTH = 8_192;

/** Undefined if absent, empty, too long or repeated: Node and Envoy join repeated headers with a comma. */
export function singleValue(headers: HeaderFields, name: string): string | undefined {
  const value = fieldOf(headers, name);
  if (typeof value !== 'string' || value === '' || value.length > MAX_VALUE_LENGTH)
    return undefined;
  return value.includes(',') ? undefined : value;
}

/** As sent: a list if it was sent several times and not joined. */
export function fieldOf(headers: HeaderFields, name: string) {
  return Object.hasOwn(headers, name) ? headers[name] : undefined;
}

/** Whether a header that may occur once was sent several times; empty values count too. */
export function hasSeveralValues(headers: HeaderFields, name: string): boolean {
  const value = fieldOf(headers, name);
  return value !== undefined && (typeof value !== 'string' || value.includes(','));
}

/** Its value is too long, or has blanks at an end: an application could read a value that headgate does not count. */
export function isLoose(headers: HeaderFields, name: string): boolean {
  const value = fieldOf(headers, name);
  if (typeof value !== 'string') return false;
  return value.length > MAX_VALUE_LENGTH || hasOuterBlank(value);
}

const OUTER_BLANK = /^[\s\x85\u180e\u200b]|[\s\x85\u180e\u200b]$/;

/** Whether some language would trim the value. Values have one character per byte. */
export function hasOuterBlank(value: string): boolean {
  if (value === '') return false;
  const first = value.charCodeAt(0);
  const last = value.charCodeAt(value.length - 1);
  if (isBlankOrControl(first) || isBlankOrControl(last)) return true;
  // Nearly every value ends here: it is ASCII.
  if (first < 0x80 && last < 0x80) return false;
  const text = Buffer.from(value, 'latin1').toString();
  // In UTF-8 the bytes 85 and A0 also end letters. In a value that is not UTF-8 they are blanks of Latin-1.
  return OUTER_BLANK.test(text) || (text.includes('\ufffd') && OUTER_BLANK.test(value));
}

function isBlankOrControl(code: number): boolean {
  return code <= 0x20 || code === 0x7f;
}
