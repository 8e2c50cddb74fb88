/** IP addresses as text: what counts as one, its one spelling, and membership in CIDR ranges. */
import { BlockList, isIP, isIPv4 } from 'node:net';
import ipaddr from 'ipaddr.js';
import { type EmbeddedIPv4, embeddedIPv4 } from './embedded-ipv4.ts';

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
  const parsed = ipaddr.IPv6.parse(withoutDots(zone === -1 ? bare : bare.slice(0, zone)));
  return parsed.isIPv4MappedAddress() ? parsed.toIPv4Address().toString() : parsed.toString();
}

/**
 * The address that a client counts as, and that blocks are looked up for: the IPv4 address in one of a translator or a
 * tunnel, else itself. Otherwise the owner of one IPv4 address would have many budgets. Never ask this about a proxy:
 * whoever comes from 64:ff9b::7f00:1 is not on loopback.
 */
export function countedAddress(address: string): string {
  return publicIPv4In(address)?.address ?? address;
}

/**
 * The address that exemptions are looked up for: the IPv4 address in one of NAT64, whose translator is the operator's
 * own, else itself. Tunnels are anybody's, and whoever carries their packets could receive what is sent to them.
 */
export function exemptedAddress(address: string): string {
  const found = publicIPv4In(address);
  return found?.form === 'nat64' ? found.address : address;
}

/** Undefined also for a local IPv4 address: on the other side of a translator or tunnel it is nobody's. */
function publicIPv4In(address: string): EmbeddedIPv4 | undefined {
  const found = embeddedIPv4(address);
  return found === undefined || isLocal(found.address) ? undefined : found;
}

/** The network of an address: itself for IPv4 and for IPv4 within IPv6, its prefix of `ipv6PrefixBits` for other IPv6. */
export function addressNetwork(address: string, ipv6PrefixBits: number): string {
  if (!isIPv6Text(address)) return address;
  const found = embeddedIPv4(address);
  if (found !== undefined) return `${found.form} ${found.address}`;
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

/** The library takes ::127.0.0.1 for 127.0.0.1, but not ::7f00:1, which is the same address and no loopback. */
function withoutDots(address: string): string {
  return address.replace(DOTTED, (_, ...bytes: string[]) => {
    const [a = 0, b = 0, c = 0, d = 0] = bytes.map(Number);
    return `${((a << 8) | b).toString(16)}:${((c << 8) | d).toString(16)}`;
  });
}

const DOTTED = /(\d+)\.(\d+)\.(\d+)\.(\d+)$/;

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
