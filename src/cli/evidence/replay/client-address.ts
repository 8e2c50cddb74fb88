/** The address of a logged client, as identity finds it: for names in reports, and to divide clients among threads. */
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
import { remember } from '../../../gateway/core/identity/remembered.ts';
import type { Naming } from '../../../gateway/core/matching/policy-set.ts';
import { ipv4Bits } from './ipv4-bits.ts';

export const KEY_NAME = 'key ';

export interface LogClient {
  /** The canonical spelling; the proxy's address if the file trusts no proxy. */
  readonly address: string;
  /** Whether the log has it, and the file trusts the proxy that wrote the log. */
  readonly isReported: boolean;
  /** What counts as one client: `203.0.113.9`, `2001:db8::/64`. */
  readonly name: string;
  /** The wider networks that are counted too, narrowest first. An IPv4 address has none. */
  readonly wider: readonly string[];
  /** The thread that decides its requests. Addresses that share a counter have the same one. */
  readonly thread: number;
}

const WHOLE_ADDRESS = 128;
const REMEMBERED = 100_000;
const NONE: readonly string[] = [];

export function compileLogClient(naming: Naming, threads: number) {
  const { sources, trustedProxies, forwardedHeader, ipv6Prefixes } = naming;
  const forwarding = { header: forwardedHeader, trusts: rememberMembers(trustedProxies) };
  const claimed = compileAddressHeaders(sources.filter((source) => typeof source === 'object'));
  const [narrowest = WHOLE_ADDRESS, ...others] = ipv6Prefixes;
  const networksOf = (address: string): NetworksOf => {
    const counted = countedAddress(address);
    const name = addressNetwork(counted, narrowest);
    const wider = isIPv6Text(counted) ? others.map((bits) => addressNetwork(counted, bits)) : NONE;
    return { name, wider, thread: threadOf(wider.at(-1) ?? name, threads) };
  };
  /** Parsing an IPv6 address costs as much as a decision. */
  const networksOfIPv6 = remember(REMEMBERED, networksOf);
  return (request: CheckRequest): LogClient => {
    const { addresses } = request;
    const proxy = canonicalAddress(addresses.proxy) ?? addresses.proxy;
    const isTrusted = forwarding.trusts(proxy);
    const forwarded = isTrusted ? forwardedAddress(addresses, forwarding) : undefined;
    const reported = isTrusted ? (claimed(request, forwarded).address ?? forwarded) : undefined;
    const address = reported ?? proxy;
    const networks = isIPv6Text(address) ? networksOfIPv6(address) : networksOf(address);
    return { address, isReported: reported !== undefined, ...networks };
  };
}

type NetworksOf = Pick<LogClient, 'name' | 'wider' | 'thread'>;

/** Addresses of one thread are spread over all networks: the multiplier is that of Fibonacci hashing (Knuth, 6.4). */
export function threadOf(network: string, threads: number): number {
  if (threads === 1) return 0;
  const bits = ipv4Bits(network);
  if (bits === undefined) return fnv1a32(network) % threads;
  return (Math.imul(bits, 0x9e3779b1) >>> 16) % threads;
}
