/** Parses IP addresses to one canonical spelling, tests whether they are in CIDR ranges, and finds them in texts. */
import { BlockList, isIP, isIPv4, isIPv6 } from 'node:net';
import ipaddr from 'ipaddr.js';
import { type EmbeddedIPv4, embeddedIPv4 } from './embedded-ipv4.ts';

export const NAMED_RANGES: Readonly<Record<string, readonly string[]>> = {
  loopback: ['127.0.0.0/8', '::1/128'],
  private: ['10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16', 'fc00::/7', 'fe80::/10'],
};

/** Addresses are in their canonical spelling. */
export interface AddressSet {
  (address: string): boolean;
  /** The range that contains the address, as text for people. Slow. */
  rangeOf(address: string): string | undefined;
  readonly example: string | undefined;
}

/**
 * The canonical spelling of an IP address, or undefined if the text is not an address.
 *
 * `net.isIP` checks the text first. Parsers that accept `127.1` or `0x7f.0.0.1` would give one client many names.
 * An IPv4-mapped IPv6 address becomes its IPv4 address. Brackets, a port and a zone id are removed.
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
 * The address that a client is counted and blocked by. If an IPv6 address of a translator or tunnel contains an IPv4
 * address, it is that one; otherwise the owner of one IPv4 address would have many budgets. Do not use this for
 * proxies: a connection from 64:ff9b::7f00:1 does not come from loopback.
 */
export function countedAddress(address: string): string {
  return publicIPv4In(address)?.address ?? address;
}

/**
 * The address that exemptions are looked up by. It is the embedded IPv4 address for NAT64 only, because the operator runs
 * that translator. Anybody can run a tunnel, so an address of a tunnel is not exempt with its IPv4 address.
 */
export function exemptedAddress(address: string): string {
  const found = publicIPv4In(address);
  return found?.form === 'nat64' ? found.address : address;
}

/** A local IPv4 address is left out: behind a translator or tunnel, it identifies no client. */
function publicIPv4In(address: string): EmbeddedIPv4 | undefined {
  const found = embeddedIPv4(address);
  return found === undefined || isLocal(found.address) ? undefined : found;
}

/** The network that an address is counted as. An IPv4 address, embedded or not, is its own network. */
export function addressNetwork(address: string, ipv6PrefixBits: number): string {
  if (!isIPv6Text(address)) return address;
  const found = embeddedIPv4(address);
  if (found !== undefined) return `${found.form} ${found.address}`;
  const network = ipaddr.IPv6.networkAddressFromCIDR(`${address}/${ipv6PrefixBits}`);
  return `${network.toString()}/${ipv6PrefixBits}`;
}

export function isIPv6Text(address: string): boolean {
  return address.includes(':');
}

export function isLoopback(address: string): boolean {
  return address.startsWith('127.') || address === '::1';
}

/** False for names other than `localhost`, which may resolve to any address. */
export function isThisMachine(host: string): boolean {
  return host.toLowerCase() === 'localhost' || isLoopback(canonicalAddress(host) ?? '');
}

/**
 * Takes CIDR ranges, addresses, `loopback`, `private` and `named` ranges. Throws a RangeError that names an invalid
 * one.
 */
export function compileAddressSet(
  entries: readonly string[],
  named: Readonly<Record<string, readonly string[]>> = {},
): AddressSet {
  const all = entries.flatMap((entry) =>
    cidrsOf(entry, named).map((cidr) => ({
      cidr,
      words: cidr === entry ? cidr : `${entry}, ${cidr}`,
    })),
  );
  const has = membership(all.map(({ cidr }) => cidr));
  const rangeOf = (address: string) => all.find(({ cidr }) => membership([cidr])(address))?.words;
  const [first] = all;
  const example = first && canonicalAddress(first.cidr.replace(/\/.*/, ''));
  return Object.assign(has, { rangeOf, example });
}

export function cidrsOf(
  entry: string,
  named: Readonly<Record<string, readonly string[]>>,
): readonly string[] {
  return own(named, entry) ?? own(NAMED_RANGES, entry) ?? [entry];
}

/** The family and the bits of an address in its canonical spelling, as text: a network's begin those of its addresses. */
export function addressBits(address: string): string {
  const bytes = ipaddr.parse(address).toByteArray();
  return bytes.reduce((bits, byte) => bits + byte.toString(2).padStart(8, '0'), `${bytes.length}.`);
}

/** The bits that all addresses of a range share. Throws a RangeError that names an invalid range. */
export function rangeBits(cidr: string): string {
  const { address, bits } = parseRange(cidr);
  const all = addressBits(address);
  return all.slice(0, all.indexOf('.') + 1 + bits);
}

function membership(cidrs: readonly string[]): (address: string) => boolean {
  const ranges = new BlockList();
  for (const { address, bits } of cidrs.map(parseRange)) {
    ranges.addSubnet(address, bits, isIPv4(address) ? 'ipv4' : 'ipv6');
  }
  return (address) => ranges.check(address, isIPv4(address) ? 'ipv4' : 'ipv6');
}

function own(named: Readonly<Record<string, readonly string[]>>, entry: string) {
  return Object.hasOwn(named, entry) ? named[entry] : undefined;
}

function parseRange(cidr: string): { readonly address: string; readonly bits: number } {
  const slash = cidr.indexOf('/');
  const address = canonicalAddress(slash === -1 ? cidr : cidr.slice(0, slash));
  if (address === undefined) throw new RangeError(`"${cidr}" is not an IP address or CIDR range`);
  const widest = isIPv4(address) ? 32 : 128;
  const digits = slash === -1 ? String(widest) : cidr.slice(slash + 1);
  if (!/^\d{1,3}$/.test(digits) || Number(digits) > widest) {
    throw new RangeError(`"${cidr}" has no prefix length between 0 and ${widest}`);
  }
  return { address, bits: Number(digits) };
}

/** ipaddr.js reads ::127.0.0.1 as 127.0.0.1. It is the same address as ::7f00:1, which is not loopback. */
function withoutDots(address: string): string {
  return address.replace(DOTTED, (_, ...bytes: string[]) => {
    const [a = 0, b = 0, c = 0, d = 0] = bytes.map(Number);
    return `${((a << 8) | b).toString(16)}:${((c << 8) | d).toString(16)}`;
  });
}

const DOTTED = /(\d+)\.(\d+)\.(\d+)\.(\d+)$/;

/** Lists of forwarded addresses contain `[::1]:80` and `1.2.3.4:80`. A bare IPv6 address is returned unchanged. */
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

/** Longer texts are not searched: such a list may hold an address anywhere. */
const LONGEST_SEARCHED = 256;

const DOTTED_WITHIN = /\d{1,3}\.\d{1,3}\.\d{1,3}\.\d{1,3}/;
const HEX_AND_COLONS = /[\da-f:]{2,}/gi;
/** Without two colons in a row, an IPv6 address has eight groups and seven colons. */
const SHORTEST_FULL = 15;

/**
 * Whether a text holds an IP address, so that a lasting name of the text would be a lasting name of the address. True for
 * addresses and networks of both families, with brackets, a port, a zone or a prefix length, in lists, and with
 * other text around them. It may be true for other texts too, such as a version 1.2.3.4. False for an address that is
 * written in another way: as one number, percent-encoded, or as a host name.
 */
export function holdsAddress(text: string): boolean {
  if (text.length > LONGEST_SEARCHED) return true;
  if (text.includes('.') && DOTTED_WITHIN.test(text)) return true;
  if (!text.includes(':')) return false;
  return text.match(HEX_AND_COLONS)?.some(isIPv6Within) ?? false;
}

/** What is next to an address may look like a part of it: `id:2001:db8::1`, or a port after eight groups. */
function isIPv6Within(text: string): boolean {
  if (text.length < SHORTEST_FULL && !text.includes('::')) return false;
  const first = text.indexOf(':');
  const last = text.lastIndexOf(':');
  return isIPv6(text) || isIPv6(text.slice(first + 1)) || isIPv6(text.slice(0, last));
}
