/** Partition keys: opaque, of fixed length, safe to store and to log. Their first letter says what they stand for. */
import { createHmac, hash, type KeyObject } from 'node:crypto';
import { addressNetwork, isIPv6Text } from './address.ts';
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
  /** The wider networks that count as well, narrowest first. An IPv4 address has none. */
  readonly wider: readonly AddressPartition[];
}

/** Of what everybody shares. */
export const GLOBAL_PARTITION = 'g';

/** 22 base64url characters carry 132 bits: no two clients of any one deployment share them. */
const DIGEST_LENGTH = 22;

/** A key that the policy file lists, by its identifier there: two keys of one client share its quota. */
export function listedKeyPartition(id: string): string {
  return `c.${digest(id)}`;
}

/** A key that nobody vouches for, by its SHA-256 in base64url. */
export function unlistedKeyPartition(sha256: string): string {
  return `k.${sha256.slice(0, DIGEST_LENGTH)}`;
}

/** Of a partition, whether it stands for an address or its network. */
export function isAddress(partition: string): boolean {
  return partition.startsWith('i.');
}

/** Of a partition, whether it is no client's: everybody's, or that of a header's value. */
export function isOfMany(partition: string): boolean {
  return partition === GLOBAL_PARTITION || partition.startsWith('h.');
}

export function userPartition(user: string): string {
  return `u.${digest(user)}`;
}

/** A header's value; the store key names the header. */
export function headerPartition(value: string): string {
  return `h.${digest(value)}`;
}

/** `ipv6Prefixes`: how many bits of an IPv6 address count, the most first. */
export function addressPartition(
  address: string,
  ipv6Prefixes: readonly number[],
  salts: Salts,
): AddressPartition {
  const [narrowest = 128, ...others] = ipv6Prefixes;
  const partitionOf = (bits: number, wider: readonly AddressPartition[]) => {
    const network = addressNetwork(address, bits);
    return {
      daily: pseudonyms(network, salts.daily),
      long: salts.long && pseudonyms(network, salts.long),
      wider,
    };
  };
  const wider = isIPv6Text(address) ? others.map((bits) => partitionOf(bits, [])) : [];
  return partitionOf(narrowest, wider);
}

/** All that an address is known by now, and that it was known by before; of its wider networks as well. */
export function pseudonymsOf({ daily, long, wider }: AddressPartition): string[] {
  const own = [daily.current, daily.previous, long?.current, long?.previous];
  return [...own.filter((each) => each !== undefined), ...wider.flatMap(pseudonymsOf)];
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
