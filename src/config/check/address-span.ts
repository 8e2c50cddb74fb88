/** From where to where a CIDR range goes. */
import ipaddr from 'ipaddr.js';
import { canonicalAddress, isIPv6Text } from '../../core/address.ts';

export interface AddressSpan {
  /** In their canonical spelling. */
  readonly first: string;
  readonly last: string;
  /** How many bits its addresses have in common. */
  readonly bits: number;
}

/** Of an address, itself. Undefined for the name of a range. */
export function spanOf(range: string): AddressSpan | undefined {
  const [text = '', prefix] = range.split('/');
  const address = canonicalAddress(text);
  if (address === undefined) return undefined;
  const bits = Number(prefix ?? (isIPv6Text(address) ? 128 : 32));
  const last = familyOf(address).broadcastAddressFromCIDR(`${address}/${bits}`).toString();
  return { first: networkAddress(address, bits), last, bits };
}

/** Where the network of so many bits begins that an address is in. */
export function networkAddress(address: string, bits: number): string {
  return familyOf(address).networkAddressFromCIDR(`${address}/${bits}`).toString();
}

function familyOf(address: string) {
  return isIPv6Text(address) ? ipaddr.IPv6 : ipaddr.IPv4;
}
