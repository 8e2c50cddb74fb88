import { METHOD_PATTERN } from '../config/policy-file/match.ts';
import { canonicalAddress } from '../core/identity/address.ts';
import { DIALECT_NAMES } from '../dialects/index.ts';

export { DIALECT_NAMES };

export const DEFAULT_DIALECT = 'envoy';

export const ADDRESS_FORM = 'must be an IP address, such as 203.0.113.9 or 2001:db8::1';
export const METHOD_FORM = 'must be a method in capitals, such as POST';
export const URL_FORM =
  'must be a path, such as /search, or a URL, such as https://example.com/search';
export const HEADER_FORM =
  'must be the name of a header, such as x-api-key, and a value without line breaks';

const TARGET = /^(?:\/|https?:\/\/[^/?#]|\*$)/i;
const TOKEN = /^[A-Za-z0-9!#$%&'*+.^_`|~-]+$/;
const LINE_BREAK = /[\0\r\n]/;

/** Programs of other languages read these patterns, which therefore have no flags. */
export const URL_PATTERN = '^(/|[Hh][Tt][Tt][Pp][Ss]?://[^/?#]|\\*$)';
export const HEADER_NAME_PATTERN = TOKEN.source;
export const HEADER_VALUE_PATTERN = '^[^\\u0000\\r\\n]*$';

export function isAddressText(text: string): boolean {
  return canonicalAddress(text) !== undefined;
}

export function isMethod(text: string): boolean {
  return METHOD_PATTERN.test(text);
}

export function isTarget(text: string): boolean {
  return TARGET.test(text);
}

export function isHeader(name: string, values: string | readonly string[]): boolean {
  return TOKEN.test(name) && [values].flat().every((value) => !LINE_BREAK.test(value));
}
