/** Remembers the partitions and list entries of recent addresses: an HMAC costs a tenth of a decision. */
import type { AccessLists, Listed } from './access-lists.ts';
import { type AddressSet, countedAddress } from './address.ts';
import { type AddressPartition, addressPartition } from './partition.ts';
import { remember } from './remembered.ts';
import type { Salts } from './salts.ts';

export interface KnownAddress {
  readonly partition: AddressPartition;
  readonly listed: Listed;
}

/** Takes an address in its canonical spelling. */
export type AddressBook = (address: string, salts: Salts) => KnownAddress;

/** An IPv4 address takes 300 bytes, an IPv6 address with a wider network and long pseudonyms 770: 46 MB at most. */
const REMEMBERED_ADDRESSES = 60_000;

export interface AddressBookOptions {
  /** The prefix lengths in bits by which IPv6 addresses are counted, longest first. */
  readonly ipv6Prefixes: readonly number[];
  readonly accessLists: AccessLists;
  readonly rememberedAddresses?: number | undefined;
}

/** When the salts change, every remembered partition is dropped. */
export function createAddressBook({
  ipv6Prefixes,
  accessLists,
  rememberedAddresses = REMEMBERED_ADDRESSES,
}: AddressBookOptions): AddressBook {
  return remember(rememberedAddresses, (address: string, salts: Salts) => ({
    partition: addressPartition(countedAddress(address), ipv6Prefixes, salts),
    listed: accessLists.ofAddress(address),
  }));
}

/** Remembers which recent addresses are in the set: searching its ranges costs more. */
export function rememberMembers(set: AddressSet): (address: string) => boolean {
  const isMember = remember(REMEMBERED_ADDRESSES, set);
  // Methods of arrays pass more than the address.
  return (address) => isMember(address);
}
