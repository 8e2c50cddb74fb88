/** Partition keys: opaque, of fixed length, safe to store and to log. Their first letter says what they stand for. */
import { createHmac, hash, type KeyObject } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { addressNetwork } from './address.ts';
import type { PeriodSalts, Salts } from './salts.ts';

/** The pseudonyms of one network under the salts of two periods. */
export interface Pseudonyms {
  readonly current: string;
  readonly previous: string | undefined;
}

export interface AddressPartition {
  readonly daily: Pseudonyms;
  /** For windows longer than a day; absent when no policy has one. */
  readonly long: Pseudonyms | undefined;
}

/** 22 base64url characters carry 132 bits: no two clients of any one deployment share them. */
const DIGEST_LENGTH = 22;
const REMEMBERED_ADDRESSES = 10_000;

/** A key that the policy file lists, by its identifier there: two keys of one client share its quota. */
export function listedKeyPartition(id: string): string {
  return `c.${digest(id)}`;
}

/** A key that nobody vouches for, by its SHA-256 in base64url. */
export function unlistedKeyPartition(sha256: string): string {
  return `k.${sha256.slice(0, DIGEST_LENGTH)}`;
}

export function userPartition(user: string): string {
  return `u.${digest(user)}`;
}

/** A header's value; the store key names the header. */
export function headerPartition(value: string): string {
  return `h.${digest(value)}`;
}

/**
 * Partitions of addresses. Those of recent ones are kept while their salts are in force: an HMAC is a tenth of a
 * decision.
 */
export function createAddressPartitions(ipv6PrefixBits: number, hasLongWindows: boolean) {
  const known = new LRUCache<string, AddressPartition>({ max: REMEMBERED_ADDRESSES });
  let knownUnder: Salts | undefined;
  return (address: string, salts: Salts): AddressPartition => {
    if (salts !== knownUnder) {
      known.clear();
      knownUnder = salts;
    }
    // A peek does not move the address to the front: keeping the order of use costs more than it saves.
    let partition = known.peek(address);
    if (partition === undefined) {
      const network = addressNetwork(address, ipv6PrefixBits);
      partition = {
        daily: pseudonyms(network, salts.daily),
        long: hasLongWindows ? pseudonyms(network, salts.long) : undefined,
      };
      known.set(address, partition);
    }
    return partition;
  };
}

function digest(text: string): string {
  return hash('sha256', text, 'base64url').slice(0, DIGEST_LENGTH);
}

function pseudonyms(network: string, { current, previous }: PeriodSalts): Pseudonyms {
  return {
    current: pseudonym(network, current),
    previous: previous && pseudonym(network, previous),
  };
}

/** Keyed, since all addresses can be tried against a plain hash; as a KeyObject, which is seven times as fast. */
function pseudonym(network: string, salt: KeyObject): string {
  const mac = createHmac('sha256', salt).update(network).digest('base64url');
  return `i.${mac.slice(0, DIGEST_LENGTH)}`;
}
