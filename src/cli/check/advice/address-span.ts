/** The first and the last address of a CIDR range. */
import ipaddr from 'ipaddr.js';
import { canonicalAddress, isIPv6Text } from '../../../gateway/core/identity/address.ts';

export interface AddressSpan {
  /** Canonical spelling. */
  readonly first: string;
  readonly last: string;
  /** Leading bits that all its addresses share. */
  readonly bits: number;
}

/** An address is a range of one. Undefined for the name of a range, such as `private`. */
export function spanOf(range: string): AddressSpan | undefined {
  const [text = '', prefix] = range.split('/');
  const address = canonicalAddress(text);
  if (address === undefined) return undefined;
  const bits = Number(prefix ?? (isIPv6Text(address) ? 128 : 32));
  const last = familyOf(address).broadcastAddressFromCIDR(`${address}/${bits}`).toString();
  return { first: networkAddress(address, bits), last, bits };
}

/** The first address of the network of this size that contains the address. */
export function networkAddress(address: string, bits: number): string {
  return familyOf(address).networkAddressFromCIDR(`${address}/${bits}`).toString();
}

function familyOf(address: string) {
  return isIPv6Text(address) ? ipaddr.IPv6 : ipaddr.IPv4;
}
