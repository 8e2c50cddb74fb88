/** The address of a logged client, as identity finds it: for names in reports, and to divide clients among threads. */
import { LRUCache } from 'lru-cache';
import type { CheckRequest } from '../../../gateway/core/check-request.ts';
import { fnv1a32 } from '../../../gateway/core/fnv1a.ts';
import {
  addressNetwork,
  canonicalAddress,
  countedAddress,
  isIPv6Text,
} from '../../../gateway/core/identity/address.ts';
import { rememberMembers } from '../../../gateway/core/identity/address-book.ts';
import {
  compileAddressHeaders,
  forwardedAddress,
} from '../../../gateway/core/identity/client-address.ts';
import type { Naming } from '../../../gateway/core/matching/policy-set.ts';

export const KEY_NAME = 'key ';

export interface LogClient {
  /** The canonical spelling; the proxy's address if the file trusts no proxy. */
  readonly address: string;
  /** What counts as one client: `203.0.113.9`, `2001:db8::/64`. */
  readonly name: string;
  /** The thread that decides its requests. Addresses that share a counter have the same one. */
  readonly thread: number;
}

const WHOLE_ADDRESS = 128;
const REMEMBERED = 100_000;

export function compileLogClient(naming: Naming, threads: number) {
  const { sources, trustedProxies, forwardedHeader, ipv6Prefixes } = naming;
  const forwarding = { header: forwardedHeader, trusts: rememberMembers(trustedProxies) };
  const claimed = compileAddressHeaders(sources.filter((source) => typeof source === 'object'));
  const narrowest = ipv6Prefixes[0] ?? WHOLE_ADDRESS;
  const widest = ipv6Prefixes.at(-1) ?? WHOLE_ADDRESS;
  /** Parsing an IPv6 address costs as much as a decision. */
  const known = new LRUCache<string, LogClient>({ max: REMEMBERED });
  const addressOf = (request: CheckRequest): string => {
    const { addresses } = request;
    const proxy = canonicalAddress(addresses.proxy) ?? addresses.proxy;
    if (!forwarding.trusts(proxy)) return proxy;
    const forwarded = forwardedAddress(addresses, forwarding);
    return claimed(request, forwarded).address ?? forwarded ?? proxy;
  };
  const clientAt = (address: string): LogClient => {
    const counted = countedAddress(address);
    const thread = threads === 1 ? 0 : fnv1a32(addressNetwork(counted, widest)) % threads;
    return { address, name: addressNetwork(counted, narrowest), thread };
  };
  return (request: CheckRequest): LogClient => {
    const address = addressOf(request);
    if (!isIPv6Text(address)) return clientAt(address);
    const client = known.get(address) ?? clientAt(address);
    known.set(address, client);
    return client;
  };
}
