/** The request that a proxy asks about, as its dialect understood it. */

export type HeaderFields = Readonly<Record<string, string | string[] | undefined>>;

/** Who is on each side of the proxy. Unchecked text: identity decides what to believe. */
export interface ReportedAddresses {
  /** Who asked the gateway: the proxy's own end of the connection. */
  readonly proxy: string;
  /** Who connected to the proxy, if it says so. */
  readonly peer: string | undefined;
  /** Who the proxy takes the client to be, if it says so. */
  readonly client: string | undefined;
  /** The X-Forwarded-For and Forwarded lists, if the proxy passes them on. */
  readonly forwardedFor: string | undefined;
  readonly forwarded: string | undefined;
  /** The headers that all but the first of these came from. */
  readonly headers: readonly string[];
}

export interface CheckRequest {
  readonly method: string;
  readonly host: string;
  /** The request target as the client spelled it, query included. */
  readonly target: string;
  /** Lower-case names. Only identity reads them, and only the ones that the policy file names. */
  readonly headers: HeaderFields;
  readonly addresses: ReportedAddresses;
  /** The policy that the proxy names for this route, in place of the one that would match. */
  readonly policy: string | undefined;
  /** What the proxy made up for this one request: it asks again under the same id when it asks twice. */
  readonly requestId: string | undefined;
  /** Headers that this dialect cannot do without and did not get: the proxy is misconfigured. */
  readonly missing: readonly string[];
}

/** Longer than any key, token or address; hashing more than that would cost more than the rest of a decision. */
const MAX_VALUE_LENGTH = 8_192;

/**
 * The value of a header that may occur once, or undefined when it is absent, empty, doubled or oversized. Node and
 * Envoy join repeated headers with a comma.
 */
export function singleValue(headers: HeaderFields, name: string): string | undefined {
  const value = Object.hasOwn(headers, name) ? headers[name] : undefined;
  if (typeof value !== 'string' || value === '' || value.length > MAX_VALUE_LENGTH)
    return undefined;
  return value.includes(',') ? undefined : value;
}

/** Whether a header that may occur once was sent twice, an empty one among them. */
export function hasSeveralValues(headers: HeaderFields, name: string): boolean {
  const value = Object.hasOwn(headers, name) ? headers[name] : undefined;
  return value !== undefined && (typeof value !== 'string' || value.includes(','));
}
