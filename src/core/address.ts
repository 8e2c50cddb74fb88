/** IP addresses as text: what counts as one, its one spelling, and membership in CIDR ranges. */
import { BlockList, isIP, isIPv4 } from 'node:net';
import ipaddr from 'ipaddr.js';

const NAMED_RANGES: Readonly<Record<string, readonly string[]>> = {
  loopback: ['127.0.0.0/8', '::1/128'],
  private: ['10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16', 'fc00::/7', 'fe80::/10'],
};

/** Answers whether an address, in its canonical spelling, lies in a set of ranges. */
export interface AddressSet {
  (address: string): boolean;
  /** The range that it lies in, in words: for people, since it takes its time. */
  rangeOf(address: string): string | undefined;
}

/**
 * The canonical spelling of an IP address, or undefined when the text is not one.
 *
 * `net.isIP` is the gate: parsers that also take `127.1` or `0x7f.0.0.1` would let one client have many names.
 * An IPv4-mapped IPv6 address is its IPv4 address; brackets, a port and a zone id are dropped.
 */
export function canonicalAddress(text: string): string | undefined {
  if (isIPv4(text)) return text;
  const bare = withoutPort(text.trim());
  if (isIPv4(bare)) return bare;
  if (isIP(bare) !== 6) return undefined;
  const zone = bare.indexOf('%');
  const parsed = ipaddr.IPv6.parse(zone === -1 ? bare : bare.slice(0, zone));
  return parsed.isIPv4MappedAddress() ? parsed.toIPv4Address().toString() : parsed.toString();
}

/**
 * The address that a client counts as: the IPv4 address in one of NAT64 (64:ff9b::/96, RFC 6052), else itself. Never
 * ask this about a proxy: whoever comes from 64:ff9b::7f00:1 is not on loopback.
 */
export function countedAddress(address: string): string {
  const translated = nat64Address(address);
  // Local ones are nobody's on the other side of a translator (section 3.1).
  return translated === undefined || isLocal(translated) ? address : translated;
}

function nat64Address(address: string): string | undefined {
  if (!address.startsWith('64:ff9b::')) return undefined;
  const { parts } = ipaddr.IPv6.parse(address);
  if (parts.slice(2, 6).some((part) => part !== 0)) return undefined;
  const [high = 0, low = 0] = parts.slice(6);
  return [high >> 8, high & 0xff, low >> 8, low & 0xff].join('.');
}

/** The network of an address: itself for IPv4 and NAT64, its prefix of `ipv6PrefixBits` for other IPv6. */
export function addressNetwork(address: string, ipv6PrefixBits: number): string {
  if (!isIPv6Text(address) || nat64Address(address) !== undefined) return address;
  const network = ipaddr.IPv6.networkAddressFromCIDR(`${address}/${ipv6PrefixBits}`);
  return `${network.toString()}/${ipv6PrefixBits}`;
}

/** Of an address in its canonical spelling. */
export function isIPv6Text(address: string): boolean {
  return address.includes(':');
}

/** True for an address in its canonical spelling that never leaves its machine. */
export function isLoopback(address: string): boolean {
  return address.startsWith('127.') || address === '::1';
}

/**
 * Compiles CIDRs, single addresses and the names `loopback`, `private` (and those in `named`) to one set.
 * Throws a RangeError that names the entry which is none of these.
 */
export function compileAddressSet(
  entries: readonly string[],
  named: Readonly<Record<string, readonly string[]>> = {},
): AddressSet {
  const all = entries.flatMap((entry) => {
    const cidrs = own(named, entry) ?? own(NAMED_RANGES, entry) ?? [entry];
    return cidrs.map((cidr) => ({ cidr, words: cidr === entry ? cidr : `${entry}, ${cidr}` }));
  });
  const has = membership(all.map(({ cidr }) => cidr));
  const rangeOf = (address: string) => all.find(({ cidr }) => membership([cidr])(address))?.words;
  return Object.assign(has, { rangeOf });
}

function membership(cidrs: readonly string[]): (address: string) => boolean {
  const ranges = new BlockList();
  for (const cidr of cidrs) addRange(ranges, cidr);
  return (address) => ranges.check(address, isIPv4(address) ? 'ipv4' : 'ipv6');
}

function own(named: Readonly<Record<string, readonly string[]>>, entry: string) {
  return Object.hasOwn(named, entry) ? named[entry] : undefined;
}

function addRange(ranges: BlockList, cidr: string): void {
  const slash = cidr.indexOf('/');
  const address = canonicalAddress(slash === -1 ? cidr : cidr.slice(0, slash));
  if (address === undefined) throw new RangeError(`"${cidr}" is not an IP address or CIDR range`);
  const family = isIPv4(address) ? 'ipv4' : 'ipv6';
  const widest = family === 'ipv4' ? 32 : 128;
  const digits = slash === -1 ? String(widest) : cidr.slice(slash + 1);
  if (!/^\d{1,3}$/.test(digits) || Number(digits) > widest) {
    throw new RangeError(`"${cidr}" has no prefix length between 0 and ${widest}`);
  }
  ranges.addSubnet(address, Number(digits), family);
}

/** `[::1]:80` and `1.2.3.4:80` as lists of forwarded addresses have them; a bare IPv6 address stays as it is. */
function withoutPort(text: string): string {
  if (text.startsWith('[')) {
    const end = text.indexOf(']');
    return /^(:\d{1,5})?$/.test(text.slice(end + 1)) ? text.slice(1, end) : text;
  }
  const colon = text.indexOf(':');
  const onlyOneColon = colon !== -1 && colon === text.lastIndexOf(':');
  return onlyOneColon && /^\d{1,5}$/.test(text.slice(colon + 1)) ? text.slice(0, colon) : text;
}

const isLocal = compileAddressSet(['loopback', 'private']);
