/** Finds the address that a request came from, as far as trusted proxies report it. */
import type { CheckRequest, ForwardedHeader } from '../check-request.ts';
import type { Trace } from '../trace.ts';
import { type AddressSet, canonicalAddress } from './address.ts';
import type { IdentitySource } from './claims.ts';
import {
  type AddressHeader,
  compileAddressHeaders,
  forwardedAddress,
  NO_CLAIM,
} from './client-address.ts';

export interface OriginConfig {
  readonly sources: readonly IdentitySource[];
  readonly trustedProxies: AddressSet;
  readonly forwardedHeader: ForwardedHeader;
}

/** Stands for the address of a connection that is closed already. */
const NO_ADDRESS = '0.0.0.0';

/** `trusts`: whether `trustedProxies` has an address. */
export function compileOrigin(config: OriginConfig, trusts: (address: string) => boolean) {
  const { sources, trustedProxies, forwardedHeader } = config;
  const forwarding = { header: forwardedHeader, trusts };
  const claimedAddress = compileAddressHeaders(addressHeadersOf(sources));
  return (request: CheckRequest, trace: Trace | undefined) => {
    const proxy = canonicalAddress(request.addresses.proxy) ?? NO_ADDRESS;
    const isTrusted = trusts(proxy);
    trace?.({
      type: 'proxy',
      address: proxy,
      trustedBy: isTrusted ? trustedProxies.rangeOf(proxy) : undefined,
    });
    const forwarded = isTrusted
      ? forwardedAddress(request.addresses, forwarding, trace)
      : undefined;
    const claim = isTrusted ? claimedAddress(request, forwarded, trace) : NO_CLAIM;
    const reported = claim.address ?? forwarded;
    trace?.({ type: 'client-address', address: reported, proxy });
    return { isTrusted, claim, reported, counted: reported ?? proxy };
  };
}

export function addressHeadersOf(sources: readonly IdentitySource[]): AddressHeader[] {
  return sources.filter((source) => typeof source === 'object');
}
