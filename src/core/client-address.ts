/** The client's address, of all that a request says about addresses. */
import { type AddressSet, canonicalAddress, isLoopback } from './address.ts';
import { type CheckRequest, type ReportedAddresses, singleValue } from './check-request.ts';
import { type ForwardedHeader, forwardedEntries } from './forwarded-list.ts';
import type { Recorder } from './recorder.ts';

/** A header that holds the client's address, and who may set it. */
export interface AddressHeader {
  readonly header: string;
  /** `cf_connecting_ip`: how a client is said to be known by it. */
  readonly kind: string;
  /** Networks of a CDN, one of which must have connected to the proxy; or the proxy, which answers for the header. */
  readonly setBy: AddressSet | 'proxy';
}

type Trusts = (address: string) => boolean;

export interface AddressClaim {
  readonly address: string | undefined;
  readonly header: AddressHeader | undefined;
  /** Names of those that were there and not believed. */
  readonly ignored: readonly string[];
}

export const NO_CLAIM: AddressClaim = { address: undefined, header: undefined, ignored: [] };

/** Entries of a list of forwarded addresses that are followed. */
const MAX_HOPS = 32;

/** The address in the first header that was set by who may set it and names one address. */
export function claimedAddress(
  request: CheckRequest,
  headers: readonly AddressHeader[],
  forwarded: string | undefined,
  record?: Recorder,
): AddressClaim {
  let claim = NO_CLAIM;
  for (const each of headers) {
    if (!Object.hasOwn(request.headers, each.header)) {
      record?.('address', `${each.header} was not sent`);
      continue;
    }
    const value = singleValue(request.headers, each.header);
    const mayBeSet = maySet(each, request.addresses.peer, forwarded);
    const address = value !== undefined && mayBeSet ? canonicalAddress(value) : undefined;
    if (address !== undefined) {
      record?.('address', `${each.header} is believed: ${whoSetIt(each, request, forwarded)}`);
      return { ...claim, address, header: each };
    }
    record?.(
      'address',
      mayBeSet
        ? `${each.header} is ignored: it is not one address`
        : `${each.header} is ignored: who connected, ${request.addresses.peer ?? 'which nobody says'}, is not in the networks that may set it`,
    );
    claim = { ...claim, ignored: [...claim.ignored, each.header] };
  }
  return claim;
}

function whoSetIt(
  { setBy }: AddressHeader,
  { addresses }: CheckRequest,
  forwarded: string | undefined,
): string {
  if (setBy === 'proxy') return 'the proxy answers for it';
  const connected = [canonical(addresses.peer), forwarded].find(
    (address) => address !== undefined && setBy(address),
  );
  return `${connected} is in ${setBy.rangeOf(connected ?? '')}`;
}

function maySet(
  { setBy }: AddressHeader,
  peer: string | undefined,
  forwarded: string | undefined,
): boolean {
  if (setBy === 'proxy') return true;
  const connected = canonical(peer);
  if (connected !== undefined && setBy(connected)) return true;
  // Behind a load balancer the CDN is not the peer, but the address that trusted proxies vouch for.
  return forwarded !== undefined && setBy(forwarded);
}

/**
 * The address that a trusted proxy reports. When that is a trusted proxy itself, the list of forwarded addresses is
 * walked from the right, each entry vouched for by the one after it, to the first that nobody vouches for.
 */
export function forwardedAddress(
  reported: ReportedAddresses,
  header: ForwardedHeader,
  trusts: Trusts,
  record?: Recorder,
): string | undefined {
  let address = canonical(reported.client) ?? canonical(reported.peer);
  const list = header === 'forwarded' ? reported.forwarded : reported.forwardedFor;
  record?.(
    'address',
    address === undefined ? 'the proxy reports none' : `the proxy reports ${address}`,
  );
  // On loopback is a process beside the proxy, not a proxy in front of it: it must not be able to be anyone.
  if (address === undefined || list === undefined || isLoopback(address) || !trusts(address)) {
    if (list !== undefined) {
      record?.(
        'address',
        `${header} is not read: ${address} is no trusted proxy in front of this one`,
      );
    }
    return address;
  }
  let hops = 0;
  for (const entry of forwardedEntries(list, header)) {
    // No chain of proxies is this long, and every hop costs a look-up.
    if (hops++ === MAX_HOPS) return address;
    const next = canonicalAddress(entry);
    // Junk: whoever passed it on is the last one we know.
    if (next === undefined) {
      record?.('address', `${header} has "${entry}", which is no address`);
      return address;
    }
    record?.('address', `${next}: by ${header}, for which the trusted proxy ${address} vouches`);
    address = next;
    if (isLoopback(address) || !trusts(address)) return address;
  }
  return address;
}

function canonical(text: string | undefined): string | undefined {
  return text === undefined ? undefined : canonicalAddress(text);
}
