/** Finds the client's address in the headers and forwarded addresses of a request. */

import type { CheckRequest, ReportedAddresses } from '../check-request.ts';
import type { AddressHeaderEvent, Trace } from '../trace.ts';
import { type AddressSet, canonicalAddress, isLoopback } from './address.ts';
import { type ForwardedHeader, forwardedEntries } from './forwarded-list.ts';
import { singleValue } from './header-value.ts';

/** A header that holds the client's address, and who may set it. */
export interface AddressHeader {
  readonly header: string;
  /** The identity of a client with this header in logs and answers: `cf_connecting_ip`. */
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

/** How many entries of a list of forwarded addresses are followed. Every entry costs a look-up. */
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
      const isAllowed = mayBeSet(each, peer, forwarded);
      const address = value !== undefined && isAllowed ? canonicalAddress(value) : undefined;
      trace?.({
        type: 'address-header',
        header,
        result: headerResult(each, { peer, forwarded, isAllowed, address }),
      });
      if (address !== undefined) return { ...claim, address, header: each };
      claim = { ...claim, ignored: [...claim.ignored, header] };
    }
    return claim;
  };
}

function mayBeSet(
  { setBy }: AddressHeader,
  peer: string | undefined,
  forwarded: string | undefined,
): boolean {
  if (setBy === 'proxy') return true;
  const connected = canonical(peer);
  if (connected !== undefined && setBy(connected)) return true;
  // Behind a load balancer the peer is not the CDN: the CDN is the address that trusted proxies forward.
  return forwarded !== undefined && setBy(forwarded);
}

interface HeaderFacts {
  readonly peer: string | undefined;
  readonly forwarded: string | undefined;
  readonly isAllowed: boolean;
  readonly address: string | undefined;
}

function headerResult(
  { setBy }: AddressHeader,
  { peer, forwarded, isAllowed, address }: HeaderFacts,
): AddressHeaderEvent['result'] {
  if (!isAllowed) return { status: 'not-allowed', peer };
  if (address === undefined) return { status: 'not-one-address' };
  if (setBy === 'proxy') return { status: 'set-by-proxy' };
  const setter = [canonical(peer), forwarded].find((each) => each !== undefined && setBy(each));
  const range = setBy.rangeOf(setter ?? '') ?? '';
  return { status: 'set-by-network', address: setter ?? '', range };
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
  if (reason !== undefined) {
    trace?.({ type: 'forwarded-list-ignored', header, reason, reported: address });
  }
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
