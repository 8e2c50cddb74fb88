/** Builds partition keys: opaque, of fixed length, safe to store and to log. The first letter tells their kind. */
import { createHmac, hash, type KeyObject } from 'node:crypto';
import { addressNetwork, isIPv6Text } from './address.ts';
import type { PeriodSalts, Salts } from './salts.ts';

export interface ClaimedIdentity {
  readonly partition: string;
  /** The client may have invented it: neither the policy file nor the store lists the key. */
  readonly unverified: boolean;
}

/** The pseudonyms of one network under the salts of two periods. */
export interface Pseudonyms {
  readonly current: string;
  readonly previous?: string | undefined;
}

export interface AddressPartition {
  readonly daily: Pseudonyms;
  /** For limits that remember longer than a day; undefined if no policy has one. */
  readonly long: Pseudonyms | undefined;
  /** The wider networks that are counted too, narrowest first. An IPv4 address has none. */
  readonly wider: readonly AddressPartition[];
}

export const GLOBAL_PARTITION = 'g';

/** 22 base64url characters carry 132 bits, so two clients never share a digest. */
const DIGEST_LENGTH = 22;

const ADDRESS = 'i.';
const DESCRIPTOR = 'd.';
const DESCRIPTOR_OF_ADDRESS = 'r.';

/** The partition of a listed key, by its id in the policy file. The id is no secret: logs and answers have it. */
export function listedKeyPartition(id: string): string {
  return `c.${digest(id)}`;
}

export function unlistedKeyPartition(sha256: string): string {
  return `k.${sha256.slice(0, DIGEST_LENGTH)}`;
}

export function isAddress(partition: string): boolean {
  return partition.startsWith(ADDRESS);
}

/** A pseudonym changes after some time. */
export function isPseudonym(partition: string): boolean {
  return isAddress(partition) || partition.startsWith(DESCRIPTOR_OF_ADDRESS);
}

/** The global partition, or one of a header value. */
export function isOfMany(partition: string): boolean {
  return partition === GLOBAL_PARTITION || partition.startsWith('h.');
}

export function isKeyOrUser(partition: string): boolean {
  return /^[cku]\./.test(partition);
}

/** The partition of a user. `kept`: the secret that all gateways keep, because users could be guessed. */
export function userPartition(user: string, kept: KeyObject): string {
  return keyed('u.', user, kept);
}

/** The partition of a header's value, keyed like users. The store key names the header. */
export function headerPartition(value: string, kept: KeyObject): string {
  return keyed('h.', value, kept);
}

/** `ipv6Prefixes`: the prefix lengths in bits by which IPv6 addresses are counted, longest first. */
export function addressPartition(
  address: string,
  ipv6Prefixes: readonly number[],
  salts: Salts,
): AddressPartition {
  const [narrowest = 128, ...others] = ipv6Prefixes;
  const partitionOf = (bits: number, wider: readonly AddressPartition[]) => {
    const network = addressNetwork(address, bits);
    return {
      daily: pseudonyms(ADDRESS, network, salts.daily),
      long: salts.long && pseudonyms(ADDRESS, network, salts.long),
      wider,
    };
  };
  const wider = isIPv6Text(address) ? others.map((bits) => partitionOf(bits, [])) : [];
  return partitionOf(narrowest, wider);
}

/** The pseudonyms of a descriptor of Envoy's rate limit filter that holds an address. */
export function descriptorPseudonyms(text: string, salts: PeriodSalts): Pseudonyms {
  return pseudonyms(DESCRIPTOR_OF_ADDRESS, text, salts);
}

/** For descriptors without an address, and for windows that are longer than salts last. */
export function descriptorPartition(text: string, kept: KeyObject): string {
  return keyed(DESCRIPTOR, text, kept);
}

export function pseudonymsOf({ daily, long, wider }: AddressPartition): string[] {
  const own = [daily.current, daily.previous, long?.current, long?.previous];
  return [...own.filter((each) => each !== undefined), ...wider.flatMap(pseudonymsOf)];
}

function digest(text: string): string {
  return hash('sha256', text, 'base64url').slice(0, DIGEST_LENGTH);
}

function pseudonyms(prefix: string, text: string, salts: PeriodSalts): Pseudonyms {
  const { current, previous } = salts;
  return {
    current: keyed(prefix, text, current),
    previous: previous && keyed(prefix, text, previous),
  };
}

/** A plain hash could be reversed by trying all addresses or user names. A KeyObject is seven times as fast as a plain key. */
function keyed(prefix: string, text: string, salt: KeyObject): string {
  const mac = createHmac('sha256', salt).update(text).digest('base64url');
  // Of `prefix + mac.slice()`, V8 would keep both parts and the whole digest.
  return [prefix, mac.slice(0, DIGEST_LENGTH)].join('');
}
