/** What recent addresses stand for: an HMAC is a tenth of a decision, and lists of ranges take time to look through. */
import { LRUCache } from 'lru-cache';
import type { Standing, Standings } from './access-lists.ts';
import { countedAddress } from './address.ts';
import { type AddressPartition, addressPartition } from './partition.ts';
import type { Salts } from './salts.ts';

export interface KnownAddress {
  readonly partition: AddressPartition;
  readonly standing: Standing;
}

const REMEMBERED_ADDRESSES = 10_000;

/** Looks up addresses in their canonical spelling. Nothing is kept longer than the salts it was found under. */
export function createAddressBook(ipv6Prefixes: readonly number[], standings: Standings) {
  const known = new LRUCache<string, KnownAddress>({ max: REMEMBERED_ADDRESSES });
  // Weak, so that salts are gone when they are over, though nobody asks any more.
  let knownUnder: WeakRef<Salts> | undefined;
  return (address: string, salts: Salts): KnownAddress => {
    if (salts !== knownUnder?.deref()) {
      known.clear();
      knownUnder = new WeakRef(salts);
    }
    // A peek does not move the address to the front: keeping the order of use costs more than it saves.
    let found = known.peek(address);
    if (found === undefined) {
      found = {
        partition: addressPartition(countedAddress(address), ipv6Prefixes, salts),
        standing: standings.ofAddress(address),
      };
      known.set(address, found);
    }
    return found;
  };
}
