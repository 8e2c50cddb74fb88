import ipaddr from 'ipaddr.js';
import type { AccessEntry, AccessList } from '../../../gateway/config/policy-file/valid-file.ts';
import {
  canonicalAddress,
  compileAddressSet,
  exemptedAddress,
  isIPv6Text,
} from '../../../gateway/core/identity/address.ts';

export type AddressSpan = NonNullable<ReturnType<typeof spanOf>>;

/**
 * `bits` are the leading bits that all its addresses share. An address is a range of one. Undefined for the name of a
 * range, such as `private`.
 */
export function spanOf(range: string) {
  const [text = '', prefix] = range.split('/');
  const address = canonicalAddress(text);
  if (address === undefined) return undefined;
  const bits = Number(prefix ?? (isIPv6Text(address) ? 128 : 32));
  const last = familyOf(address).broadcastAddressFromCIDR(`${address}/${bits}`).toString();
  return { first: networkAddress(address, bits), last, bits };
}

export function networkAddress(address: string, bits: number): string {
  return familyOf(address).networkAddressFromCIDR(`${address}/${bits}`).toString();
}

function familyOf(address: string) {
  return isIPv6Text(address) ? ipaddr.IPv6 : ipaddr.IPv4;
}

const LOCAL_NAMES = ['loopback', 'private'].map((name) => ({
  name,
  has: compileAddressSet([name]),
}));

export function compileExemptions(
  exempt: AccessList,
  cloudflare: readonly string[],
): (entry: AccessEntry) => readonly number[] {
  const indices = new Map<string, number[]>();
  const prefixLengths = new Set<number>();
  const add = (name: string, index: number) => {
    indices.set(name, [...(indices.get(name) ?? []), index]);
  };
  for (const [index, { key, address }] of exempt.entries()) {
    // The space keeps keys apart from networks.
    if (key !== undefined) add(`key ${key}`, index);
    if (address === undefined) continue;
    for (const range of address === 'cloudflare' ? [address, ...cloudflare] : [address]) {
      const span = countedSpan(range);
      add(span === undefined ? range : `${span.first}/${span.bits}`, index);
      if (span !== undefined) prefixLengths.add(span.bits);
    }
  }
  const namesAround = (span: AddressSpan) => [
    ...[...prefixLengths]
      .filter((bits) => bits <= span.bits)
      .map((bits) => `${networkAddress(span.first, bits)}/${bits}`),
    ...LOCAL_NAMES.filter(({ has }) => has(span.first) && has(span.last)).map(({ name }) => name),
  ];
  const namesOf = ({ key, address }: AccessEntry) => {
    if (key !== undefined) return [`key ${key}`];
    if (address === undefined) return [];
    const span = countedSpan(address);
    return span === undefined ? [address] : namesAround(span);
  };
  return (entry) => namesOf(entry).flatMap((name) => indices.get(name) ?? []);
}

function countedSpan(range: string): AddressSpan | undefined {
  const single = canonicalAddress(range);
  return spanOf(single === undefined ? range : exemptedAddress(single));
}
