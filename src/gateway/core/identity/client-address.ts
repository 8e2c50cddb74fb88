/**
 * Finds the client's address in the headers and forwarded addresses of a request. Lists of forwarded addresses are read
 * from the right: the nearest proxy wrote the last entry, and everything before it was in the request that it received.
 */

import type { CheckRequest, ForwardedHeader, ReportedAddresses } from '../check-request.ts';
import type { AddressHeaderEvent, Trace } from '../trace.ts';
import { type AddressSet, canonicalAddress, isLoopback } from './address.ts';
import { singleValue } from './header-value.ts';

export interface AddressHeader {
  readonly header: string;
  /** `cf_connecting_ip`, in logs and answers. */
  readonly kind: string;
  /** The networks of a CDN, which must have connected to the proxy; or `proxy` if the proxy itself sets the header. */
  readonly setBy: AddressSet | 'proxy';
}

export interface AddressClaim {
  readonly address: string | undefined;
  readonly header: AddressHeader | undefined;
  readonly ignored: readonly string[];
}

export const NO_CLAIM: AddressClaim = { address: undefined, header: undefined, ignored: [] };

/** Every entry costs a look-up. */
const MAX_HOPS = 32;

export type FindClaimedAddress = (
  request: CheckRequest,
  forwarded: string | undefined,
  trace?: Trace,
) => AddressClaim;

/** Finds the address in the first header that an allowed sender set and that holds exactly one address. */
export function compileAddressHeaders(headers: readonly AddressHeader[]): FindClaimedAddress {
  return (request, forwarded, trace) => {
    const { peer } = request.addresses;
    let claim = NO_CLAIM;
    for (const each of headers) {
      const { header } = each;
      if (!Object.hasOwn(request.headers, header)) {
        trace?.({ type: 'address-header', header, result: { status: 'absent' } });
        continue;
      }
      const value = singleValue(request.headers, header);
      const setter = setterOf(each, peer, forwarded);
      const address =
        value !== undefined && setter !== undefined ? canonicalAddress(value) : undefined;
      if (trace) {
        const result = headerResult(each, { peer, setter, address });
        trace({ type: 'address-header', header, result });
      }
      if (address !== undefined) return { ...claim, address, header: each };
      claim = { ...claim, ignored: [...claim.ignored, header] };
    }
    return claim;
  };
}

/** The address that set the header, or `proxy`; undefined if the sender may not set it. */
function setterOf(
  { setBy }: AddressHeader,
  peer: string | undefined,
  forwarded: string | undefined,
): string | undefined {
  if (setBy === 'proxy') return setBy;
  const connected = canonical(peer);
  if (connected !== undefined && setBy(connected)) return connected;
  // Behind a load balancer the peer is not the CDN: the CDN is the address that trusted proxies forward.
  return forwarded !== undefined && setBy(forwarded) ? forwarded : undefined;
}

function headerResult(
  { setBy }: AddressHeader,
  found: Readonly<Record<'peer' | 'setter' | 'address', string | undefined>>,
): AddressHeaderEvent['result'] {
  const { peer, setter, address } = found;
  if (setter === undefined) return { status: 'not-allowed', peer };
  if (address === undefined) return { status: 'not-one-address' };
  if (setBy === 'proxy') return { status: 'set-by-proxy' };
  return { status: 'set-by-network', address: setter, range: setBy.rangeOf(setter) ?? '' };
}

/**
 * The client address that a trusted proxy reports. If that address is a trusted proxy too, its list of forwarded
 * addresses is read from the right: each trusted proxy wrote the entry before its own, so the first address that is not
 * trusted is the client.
 */
export function forwardedAddress(
  reported: ReportedAddresses,
  { header, trusts }: ForwardedTrust,
  trace?: Trace,
): string | undefined {
  const address = canonical(reported.client) ?? canonical(reported.peer);
  trace?.({ type: 'reported-address', address });
  const list = header === 'forwarded' ? reported.forwarded : reported.forwardedFor;
  if (list === undefined) return address;
  const reason = ignoreReason(address, trusts);
  if (address !== undefined && reason === undefined) {
    return lastUntrusted(forwardedEntries(list, header), address, { header, trusts, trace });
  }
  if (reason) trace?.({ type: 'forwarded-list-ignored', header, reason, reported: address });
  return address;
}

export interface ForwardedTrust {
  readonly header: ForwardedHeader;
  readonly trusts: (address: string) => boolean;
}

function ignoreReason(address: string | undefined, trusts: ForwardedTrust['trusts']) {
  if (address === undefined) return 'no-reported-address';
  // A loopback address is a process on the proxy's machine. It may not claim to be another client.
  if (isLoopback(address)) return 'loopback';
  return trusts(address) ? undefined : 'untrusted';
}

function lastUntrusted(
  entries: Iterable<string>,
  reported: string,
  { header, trusts, trace }: ForwardedTrust & { readonly trace: Trace | undefined },
): string {
  let address = reported;
  let hops = 0;
  for (const entry of entries) {
    if (hops++ === MAX_HOPS) return address;
    const next = canonicalAddress(entry);
    trace?.({ type: 'forwarded-entry', header, entry, address: next, writtenBy: address });
    // The proxy that wrote an entry without an address is the last one known.
    if (next === undefined) return address;
    address = next;
    if (isLoopback(address) || !trusts(address)) return address;
  }
  return address;
}

function canonical(text: string | undefined): string | undefined {
  return text === undefined ? undefined : canonicalAddress(text);
}

/** The entries of X-Forwarded-For or Forwarded, last one first: an address, perhaps with a port, or anything else. */
export function forwardedEntries(list: string, header: ForwardedHeader): Iterable<string> {
  if (header === 'forwarded') return forwardedNodes(list);
  return elements(list, (text, end) => text.lastIndexOf(',', end));
}

/** The `for` of each element of a Forwarded field (RFC 7239, section 4); empty for an element without exactly one. */
function* forwardedNodes(field: string): Generator<string> {
  for (const element of elements(field, lastCommaOutsideQuotes)) yield nodeOf(element) ?? '';
}

/** `name=value`. Escapes are not read, because no proxy needs them. */
const PAIR = /\s*([\w!#$%&'*+.^`|~-]+)=(?:"([^"\\]*)"|([^\s;"\\]*))\s*(?:;|$)/y;

function nodeOf(element: string): string | undefined {
  let node: string | undefined;
  for (PAIR.lastIndex = 0; PAIR.lastIndex < element.length; ) {
    const pair = PAIR.exec(element);
    if (pair === null) return undefined;
    const [, name = '', quoted, token] = pair;
    if (name.toLowerCase() !== 'for') continue;
    if (node !== undefined) return undefined;
    node = quoted ?? token;
  }
  return node;
}

/** Searches from the right, so that an open quote from a client cannot hide an entry that a proxy wrote after it. */
function lastCommaOutsideQuotes(text: string, end: number): number {
  let quoted = false;
  for (let i = end; i >= 0; i--) {
    const char = text[i];
    if (char === '"') quoted = !quoted;
    else if (char === ',' && !quoted) return i;
  }
  return -1;
}

function* elements(
  field: string,
  commaBefore: (text: string, end: number) => number,
): Generator<string> {
  if (field === '') return;
  let end = field.length;
  while (end >= 0) {
    const comma = end === 0 ? -1 : commaBefore(field, end - 1);
    yield field.slice(comma + 1, end).trim();
    end = comma;
  }
}
