/** Lists of names with a text each: headers of gRPC, and metadata of a node. */

export type TextPairs = Readonly<Record<string, string>>;

export const METADATA_FORM = 'key=value pairs, separated by commas';
export const HEADERS_FORM =
  'headers of gRPC such as authorization:Bearer 1234, separated by commas';

/** Throws a RangeError. */
export function parseMetadata(text: string): TextPairs {
  return pairsOf(text, '=', METADATA_FORM);
}

/** The characters that gRPC allows in names of metadata. */
const HEADER_NAME = /^[\da-z_.-]+$/;
/** They are gRPC's own, or HTTP/2 forbids them, or (`-bin`) their values are not text. */
const NOT_FREE =
  /^(?:grpc-.*|.*-bin|te|content-type|connection|host|keep-alive|proxy-connection|transfer-encoding|upgrade|http2-settings)$/;
/** Printable ASCII. */
const HEADER_VALUE = /^[ -~]*$/;

/** Names become lower case. Throws a RangeError, which quotes no value. */
export function parseHeaders(text: string): TextPairs {
  const headers = Object.entries(pairsOf(text, ':', HEADERS_FORM)).map(([name, value]) => {
    const lower = name.toLowerCase();
    const isFree = HEADER_NAME.test(lower) && !NOT_FREE.test(lower) && HEADER_VALUE.test(value);
    if (!isFree) throw new RangeError(`must be ${HEADERS_FORM}`);
    return [lower, value];
  });
  return Object.fromEntries(headers);
}

function pairsOf(text: string, separator: string, form: string): TextPairs {
  const pairs = text.split(',').map((pair) => {
    const at = pair.indexOf(separator);
    const name = pair.slice(0, Math.max(at, 0)).trim();
    if (name === '') throw new RangeError(`must be ${form}`);
    return [name, pair.slice(at + 1).trim()];
  });
  return Object.fromEntries(pairs);
}
