/**
 * Who is asking: which of the things that a request says about its client may be believed, and the opaque partitions
 * that stand for them from here on. Nothing behind this file sees an address or an API key.
 */
import { hash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { type AddressSet, canonicalAddress } from './address.ts';
import { type CheckRequest, singleValue } from './check-request.ts';
import { cloudflareAddress, forwardedAddress } from './client-address.ts';
import {
  type AddressPartition,
  createAddressPartitions,
  headerPartition,
  listedKeyPartition,
  unlistedKeyPartition,
  userPartition,
} from './partition.ts';
import type { HeaderPartition } from './policy.ts';
import type { Salts } from './salts.ts';

export type IdentityKind = 'api_key' | 'user' | 'cf_connecting_ip' | 'ip';

/** Something that a request says about its client. */
export interface ClaimedIdentity {
  readonly partition: string;
  /** True when nobody vouches for it, as for a key that the policy file does not list: it may be made up. */
  readonly unverified: boolean;
}

export interface ClientIdentity {
  readonly kind: IdentityKind;
  readonly address: AddressPartition;
  /** The API key and the user of the request, whichever of them speaks for the client. */
  readonly apiKey: ClaimedIdentity | undefined;
  readonly user: string | undefined;
  /** The headers that limits are per, as far as the request has them. */
  readonly headers: ReadonlyMap<HeaderPartition, ClaimedIdentity>;
  /** The proxy that asked is not among the trusted ones, so what it says of addresses and users was ignored. */
  readonly untrustedProxy: boolean;
}

export interface IdentityConfig {
  /** In order of precedence; the address is always the last resort. */
  readonly sources: readonly IdentityKind[];
  readonly apiKeyHeader: string;
  /** Identifiers of known keys by the lower-case hexadecimal SHA-256 of the key. */
  readonly apiKeys: ReadonlyMap<string, string>;
  readonly userHeader: string;
  /** Names of the headers that limits are per. */
  readonly headers: readonly string[];
  /** Those of them that a trusted proxy sets itself. */
  readonly verifiedHeaders: readonly string[];
  readonly trustedProxies: AddressSet;
  /** Peers whose CF-Connecting-IP is believed. */
  readonly cloudflare: AddressSet;
  readonly ipv6PrefixBits: number;
  /** Whether a limit has a window longer than a day. */
  readonly hasLongWindows: boolean;
}

export type IdentityResolver = (request: CheckRequest, salts: Salts) => ClientIdentity;

/** Stands for the address of a caller that has none: the other end of a connection that is gone. */
const NO_ADDRESS = '0.0.0.0';
const REMEMBERED_PROXIES = 1_000;

export function compileIdentity(config: IdentityConfig): IdentityResolver {
  const { sources, cloudflare } = config;
  const trusts = remembered(config.trustedProxies);
  const partitionOf = createAddressPartitions(config.ipv6PrefixBits, config.hasLongWindows);
  const apiKeyOf = sources.includes('api_key') ? compileApiKeys(config) : undefined;
  const headersOf = compileHeaders(config);
  const readsUser = sources.includes('user');
  const readsCloudflare = sources.includes('cf_connecting_ip');

  return (request, salts) => {
    const proxy = canonicalAddress(request.addresses.proxy) ?? NO_ADDRESS;
    const trusted = trusts(proxy);
    const viaCloudflare =
      readsCloudflare && trusted ? cloudflareAddress(request, cloudflare) : undefined;
    const forwarded = trusted ? forwardedAddress(request.addresses, trusts) : undefined;
    const apiKey = apiKeyOf?.(request);
    const user = readsUser && trusted ? userOf(request, config) : undefined;
    const kind = sources.find((source) => {
      if (source === 'api_key') return apiKey !== undefined;
      if (source === 'user') return user !== undefined;
      return source === 'ip' || viaCloudflare !== undefined;
    });
    return {
      kind: kind ?? 'ip',
      address: partitionOf(viaCloudflare ?? forwarded ?? proxy, salts),
      apiKey,
      user,
      headers: headersOf(request, trusted),
      untrustedProxy: !trusted,
    };
  };
}

/** A request's key is hashed once: the digest finds the listed ones and names the others. */
function compileApiKeys({ apiKeys, apiKeyHeader }: IdentityConfig) {
  const listed = new Map<string, ClaimedIdentity>();
  for (const [sha256, id] of apiKeys) {
    const digest = Buffer.from(sha256, 'hex').toString('base64url');
    listed.set(digest, { partition: listedKeyPartition(id), unverified: false });
  }
  return (request: CheckRequest): ClaimedIdentity | undefined => {
    const key = singleValue(request.headers, apiKeyHeader);
    if (key === undefined) return undefined;
    const digest = hash('sha256', key, 'base64url');
    return listed.get(digest) ?? { partition: unlistedKeyPartition(digest), unverified: true };
  };
}

const NO_HEADERS: ReadonlyMap<HeaderPartition, ClaimedIdentity> = new Map();

function compileHeaders({ headers, verifiedHeaders }: IdentityConfig) {
  return (request: CheckRequest, trustedProxy: boolean) => {
    if (headers.length === 0) return NO_HEADERS;
    const found = new Map<HeaderPartition, ClaimedIdentity>();
    for (const name of headers) {
      const value = singleValue(request.headers, name);
      if (value === undefined) continue;
      const unverified = !trustedProxy || !verifiedHeaders.includes(name);
      found.set(`header:${name}`, { partition: headerPartition(value), unverified });
    }
    return found;
  };
}

function userOf(request: CheckRequest, config: IdentityConfig): string | undefined {
  const user = singleValue(request.headers, config.userHeader);
  return user === undefined ? undefined : userPartition(user);
}

/** The same few proxies ask all the time; looking an address up in the ranges costs more than remembering it. */
function remembered(set: AddressSet): AddressSet {
  const known = new LRUCache<string, boolean>({ max: REMEMBERED_PROXIES });
  return (address) => {
    let member = known.get(address);
    if (member === undefined) {
      member = set(address);
      known.set(address, member);
    }
    return member;
  };
}
