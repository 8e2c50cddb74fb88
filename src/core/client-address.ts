/** The client's address, of all that a request says about addresses. */
import { type AddressSet, canonicalAddress, isLoopback } from './address.ts';
import { type CheckRequest, type ReportedAddresses, singleValue } from './check-request.ts';

const CF_CONNECTING_IP = 'cf-connecting-ip';

/** CF-Connecting-IP, when who connected to the proxy is Cloudflare and the header names one address. */
export function cloudflareAddress(
  request: CheckRequest,
  cloudflare: AddressSet,
): string | undefined {
  const claimed = singleValue(request.headers, CF_CONNECTING_IP);
  if (claimed === undefined) return undefined;
  const peer = canonical(request.addresses.peer);
  return peer !== undefined && cloudflare(peer) ? canonicalAddress(claimed) : undefined;
}

/**
 * The address that a trusted proxy reports. When that is a trusted proxy itself, X-Forwarded-For is walked from the
 * right, each entry vouched for by the one after it, to the first that nobody vouches for.
 */
export function forwardedAddress(
  reported: ReportedAddresses,
  trusts: AddressSet,
): string | undefined {
  let address = canonical(reported.client) ?? canonical(reported.peer);
  if (address === undefined || reported.forwardedFor === undefined) return address;
  for (const entry of reported.forwardedFor.split(',').reverse()) {
    // On loopback is a process beside the proxy, not a proxy in front of it: it must not be able to be anyone.
    if (isLoopback(address) || !trusts(address)) return address;
    const next = canonicalAddress(entry);
    // Junk: whoever passed it on is the last one we know.
    if (next === undefined) return address;
    address = next;
  }
  return address;
}

function canonical(text: string | undefined): string | undefined {
  return text === undefined ? undefined : canonicalAddress(text);
}
