/** The address of a logged client, as identity finds it: for names in reports, and to divide clients among threads. */
import { addressNetwork, canonicalAddress, countedAddress } from '../../core/address.ts';
import { rememberMembers } from '../../core/address-book.ts';
import type { CheckRequest } from '../../core/check-request.ts';
import { forwardedAddress } from '../../core/client-address.ts';
import { fnv1a32 } from '../../core/fnv1a.ts';
import type { Naming } from '../../core/policy-set.ts';

/** Finds the client's address in its canonical spelling; the proxy's if the file trusts no proxy. */
export function compileClientAddress({ trustedProxies, forwardedHeader }: Naming) {
  const forwarding = { header: forwardedHeader, trusts: rememberMembers(trustedProxies) };
  return ({ addresses }: CheckRequest): string => {
    const { proxy } = addresses;
    const found = forwarding.trusts(proxy) ? forwardedAddress(addresses, forwarding) : undefined;
    return found ?? canonicalAddress(proxy) ?? proxy;
  };
}

/** Comes before the id of a listed key, as a name of a client. */
export const KEY_NAME = 'key ';

/** The network that counts as one client: `203.0.113.9`, `2001:db8::/64`. */
export function clientNetwork(address: string, { ipv6Prefixes }: Naming): string {
  return addressNetwork(countedAddress(address), ipv6Prefixes[0] ?? WHOLE_ADDRESS);
}

const WHOLE_ADDRESS = 128;

/** The thread that decides a client's requests. Addresses that share a counter have the same thread. */
export function compileThreadOf({ ipv6Prefixes }: Naming, threads: number) {
  const widest = ipv6Prefixes.at(-1) ?? WHOLE_ADDRESS;
  return (address: string): number =>
    threads === 1 ? 0 : fnv1a32(addressNetwork(countedAddress(address), widest)) % threads;
}
