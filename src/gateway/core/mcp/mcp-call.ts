/**
 * What the headers of a POST say about a call to an MCP server: Streamable HTTP of revision 2026-07-28, "Standard Request
 * Headers" and "Value Encoding". A value has one spelling here; what a server would refuse or could read in several ways
 * is malformed.
 */
import type { HeaderFields } from '../check-request.ts';
import { fieldOf, hasOuterBlank } from '../identity/header-value.ts';

export const MCP_METHOD = 'mcp-method';
export const MCP_NAME = 'mcp-name';
export const MCP_VERSION = 'mcp-protocol-version';
export const MCP_HEADERS = [MCP_METHOD, MCP_NAME, MCP_VERSION] as const;

export function isMcpHeader(name: string): boolean {
  return MCP_HEADERS.some((each) => each === name);
}

/** `none` in policy files: calls whose headers are missing, or that no server compares with the body. */
export const WITHOUT_HEADERS = 'none';

/** Servers of this revision and later ones refuse a call whose headers and body differ. */
const COMPARED_SINCE = '2026-07-28';
const VERSION = /^\d{4}-\d{2}-\d{2}$/;

/** Characters of a header. Tool names have at most 128, addresses of resources are longer. */
const LONGEST_VALUE = 4_096;

/**
 * The method of a call; undefined if the call counts as one without headers. `isVouched`: the proxy has compared the headers
 * with the body.
 */
export function methodOf(headers: HeaderFields, isVouched: boolean): McpValue {
  const written = fieldOf(headers, MCP_METHOD);
  if (written === undefined || written === '') return undefined;
  const method = textOf(written);
  return method === MALFORMED || isVouched || isCompared(headers) ? method : undefined;
}

/** The methods whose calls must have a name. */
export const NAMED_METHODS: ReadonlySet<McpValue> = new Set([
  ...['tools/call', 'resources/read', 'prompts/get'],
]);

/**
 * Whether a call should have one of the headers. Clients have sent the version since revision 2025-06-18; those that say
 * 2026-07-28 must send the method, and the name with some methods.
 */
export function shouldHave(name: string, headers: HeaderFields): boolean {
  if (name === MCP_METHOD) return isCompared(headers);
  return name !== MCP_NAME || NAMED_METHODS.has(methodOf(headers, false));
}

/** Undefined if there is none. Some proxies send an absent header empty. */
export function nameOf(headers: HeaderFields): McpValue {
  const written = fieldOf(headers, MCP_NAME);
  return written === undefined || written === '' ? undefined : textOf(written);
}

export const MALFORMED = Symbol('malformed');
export type McpValue = string | typeof MALFORMED | undefined;

function isCompared(headers: HeaderFields): boolean {
  const version = fieldOf(headers, MCP_VERSION);
  return typeof version === 'string' && VERSION.test(version) && version >= COMPARED_SINCE;
}

const IN_ASCII = /^[\t\x20-\x7e]+$/;
/** Some decoders may take other cases of the mark. */
const LOOKS_ENCODED = /^=\?base64\?.*\?=$/i;
const ENCODED = /^=\?base64\?([A-Za-z0-9+/]+={0,2})\?=$/;

/** Proxies join the values of a repeated header with a comma, so a value with a comma must be encoded. */
function textOf(written: string | string[]): McpValue {
  if (faultOf(written) !== undefined) return MALFORMED;
  const text = written as string;
  return LOOKS_ENCODED.test(text) ? decoded(ENCODED.exec(text)?.[1] ?? '') : text;
}

/** Undefined if the value is fine, or is encoded in a wrong way. */
function faultOf(written: string | string[]): string | undefined {
  if (typeof written !== 'string' || written.includes(',')) return 'has several values, or a comma';
  if (written.length > LONGEST_VALUE) return `has more than ${LONGEST_VALUE} characters`;
  if (hasOuterBlank(written)) return 'has a blank at an end';
  return IN_ASCII.test(written) ? undefined : 'has a character that is not printable ASCII';
}

/** What is wrong with a malformed value, for `explain`. */
export function malformedText(headers: HeaderFields, name: string): string {
  const fault = faultOf(fieldOf(headers, name) ?? '') ?? 'is not in exact base64 of UTF-8';
  return `${name} ${fault}: the request is denied`;
}

/** Why a call counts as one without headers, for `explain`. */
export function whyWithout(headers: HeaderFields): string {
  if (!fieldOf(headers, MCP_METHOD)) return `${MCP_METHOD} was not sent`;
  const version = fieldOf(headers, MCP_VERSION);
  const what = version ? `is ${[version].flat().join(', ')}` : 'was not sent';
  return `${MCP_VERSION} ${what}, so no server compares the headers with the body; servers do from ${COMPARED_SINCE} on, or a trusted proxy vouches for them (identity.verified_headers)`;
}

const BYTE_ORDER_MARK = '\ufeff';

/** Each text has one spelling in base64 (RFC 4648, section 3.5). Some servers drop a byte order mark, others keep it. */
function decoded(base64: string): McpValue {
  const bytes = Buffer.from(base64, 'base64');
  const text = bytes.toString();
  const isExact = bytes.toString('base64') === base64 && Buffer.from(text).equals(bytes);
  return isExact && text !== '' && !text.startsWith(BYTE_ORDER_MARK) ? text : MALFORMED;
}
