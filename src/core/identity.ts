/**
 * Who is asking: which of the things that a request says about its client may be believed, and the opaque partitions
 * that stand for them from here on. Nothing behind this file sees an address or an API key.
 */
import { LRUCache } from 'lru-cache';
import type { Access, Standing, Standings } from './access-lists.ts';
import {
  type AddressSet,
  canonicalAddress,
  countedAddress,
  exemptedAddress,
  isLoopback,
} from './address.ts';
import { createAddressBook } from './address-book.ts';
import { compileApiKeys, hasAmbiguousKey, type ListedKey } from './api-key.ts';
import { type CheckRequest, hasSeveralValues, singleValue } from './check-request.ts';
import {
  type AddressHeader,
  claimedAddress,
  forwardedAddress,
  NO_CLAIM,
} from './client-address.ts';
import type { ForwardedHeader } from './forwarded-list.ts';
import { NO_OVERRIDES, type Overrides } from './overrides.ts';
import {
  type AddressPartition,
  headerPartition,
  pseudonymsOf,
  userPartition,
} from './partition.ts';
import type { HeaderPartition } from './policy.ts';
import type { Recorder } from './recorder.ts';
import type { Salts } from './salts.ts';

/** Something that a request says about its client. */
export interface ClaimedIdentity {
  readonly partition: string;
  /** True when nobody vouches for it, as for a key that the policy file does not list: it may be made up. */
  readonly unverified: boolean;
}

export interface ClientIdentity {
  /** Which source it is: `api_key`, `user`, `ip`, or the address header's kind. */
  readonly kind: string;
  /** The partition that speaks for the client: that of its key, of its user or of its address. */
  readonly partition: string;
  readonly address: AddressPartition;
  /** The API key and the user of the request, whichever of them speaks for the client. */
  readonly apiKey: ClaimedIdentity | undefined;
  readonly user: string | undefined;
  /** Of the listed key. */
  readonly plan: string | undefined;
  /** The headers that limits are per, as far as the request has them. */
  readonly headers: ReadonlyMap<HeaderPartition, ClaimedIdentity>;
  /** Whether the client is on a list of those whom no policy counts, or whom nothing lets in. */
  readonly access: Access | undefined;
  /** A header that identifies the client has several values, and an application may believe any of them. */
  readonly isAmbiguous: boolean;
  /** The proxy that asked is not among the trusted ones, so what it says of addresses and users was ignored. */
  readonly untrustedProxy: boolean;
  /** Names of headers that were there and not believed: who sent them may not set them. */
  readonly ignoredHeaders: readonly string[];
}

export type IdentitySource = 'api_key' | 'user' | 'ip' | AddressHeader;

export interface IdentityConfig {
  /** In order of precedence; the address is always the last resort. */
  readonly sources: readonly IdentitySource[];
  readonly apiKeyHeader: string;
  readonly apiKeys: readonly ListedKey[];
  readonly userHeader: string;
  /** Names of the headers that limits are per. */
  readonly headers: readonly string[];
  /** Those of them that a trusted proxy sets itself. */
  readonly verifiedHeaders: readonly string[];
  readonly trustedProxies: AddressSet;
  readonly forwardedHeader: ForwardedHeader;
  /** How many bits of an IPv6 address count, the most first. */
  readonly ipv6Prefixes: readonly number[];
  readonly standings: Standings;
}

export type IdentityResolver = (
  request: CheckRequest,
  salts: Salts,
  nowMs: number,
  overrides?: Overrides,
  record?: Recorder,
) => ClientIdentity;

/** Stands for the address of a caller that has none: the other end of a connection that is gone. */
const NO_ADDRESS = '0.0.0.0';
const REMEMBERED_ADDRESSES = 10_000;

export function compileIdentity(config: IdentityConfig): IdentityResolver {
  const { sources, userHeader, forwardedHeader } = config;
  const trusts = remembered(config.trustedProxies);
  const addressBook = createAddressBook(config.ipv6Prefixes, config.standings);
  const apiKeyOf = sources.includes('api_key') ? compileApiKeys(config) : undefined;
  const headersOf = compileHeaders(config);
  const readsUser = sources.includes('user');
  const ambiguousHeader = compileAmbiguity(config);
  const addressHeaders = sources.filter((source) => typeof source === 'object');
  const proxyHeaders = [
    ...addressHeaders.map(({ header }) => header),
    ...(readsUser ? [userHeader] : []),
    ...config.verifiedHeaders,
  ];

  return (request, salts, nowMs, overrides = NO_OVERRIDES, record) => {
    const proxy = canonicalAddress(request.addresses.proxy) ?? NO_ADDRESS;
    const trusted = trusts(proxy);
    record?.(
      'proxy',
      trusted
        ? `${proxy} is trusted: ${config.trustedProxies.rangeOf(proxy)}`
        : `${proxy} is not in identity.trusted_proxies: what it says of addresses and users is ignored`,
    );
    const forwarded = trusted
      ? forwardedAddress(request.addresses, forwardedHeader, trusts, record)
      : undefined;
    const claim = trusted ? claimedAddress(request, addressHeaders, forwarded, record) : NO_CLAIM;
    const apiKey = apiKeyOf?.(request);
    const user = readsUser && trusted ? userOf(request, userHeader) : undefined;
    const isThere = (each: IdentitySource) => {
      if (each === 'api_key') return apiKey !== undefined;
      if (each === 'user') return user !== undefined;
      return each === 'ip' || each === claim.header;
    };
    const source = sources.find(isThere) ?? 'ip';
    const reported = claim.address ?? forwarded;
    if (record) {
      record('address', `counted for is ${reported ?? `${proxy}, the proxy itself`}`);
      recordSources(sources, { source, isThere, apiKey }, record);
    }
    const { partition: address, standing } = addressBook(reported ?? proxy, salts);
    // The address of a proxy that says nothing of its clients, or junk, must not exempt them all.
    const isOfClient = () => reported !== undefined && (isLoopback(reported) || !trusts(reported));
    const overridden =
      overrides.access.size === 0
        ? undefined
        : overriddenAccess(
            overrides,
            [apiKey?.partition, user],
            address,
            () => isOfClient() && isExemptAsCounted(reported ?? proxy),
          );
    if (overridden !== undefined) record?.('identity', `an operator decided: ${overridden}`);
    const ambiguous = ambiguousHeader(request, trusted);
    if (ambiguous !== undefined)
      record?.(
        'identity',
        `${ambiguous} has several values, or one that can be read in several ways: refused`,
      );
    return {
      kind: kindOf(source),
      partition: claimOf(source, apiKey, user) ?? address.daily.current,
      address,
      apiKey,
      user,
      plan: apiKey?.plan,
      headers: headersOf(request, trusted),
      access: overridden ?? listedAccess(apiKey?.standing, standing, nowMs, isOfClient),
      isAmbiguous: ambiguous !== undefined,
      untrustedProxy: !trusted,
      ignoredHeaders: trusted
        ? claim.ignored
        : [...request.addresses.headers, ...proxyHeaders].filter((name) =>
            Object.hasOwn(request.headers, name),
          ),
    };
  };
}

/** Overrides know a client by the address that it counts as, which may be the IPv4 address in one of a tunnel. */
function isExemptAsCounted(address: string): boolean {
  return exemptedAddress(address) === countedAddress(address);
}

function kindOf(source: IdentitySource): string {
  return typeof source === 'object' ? source.kind : source;
}

/** Undefined for a client that only its address speaks for. */
function claimOf(source: IdentitySource, apiKey: ClaimedIdentity | undefined, user?: string) {
  if (source === 'api_key') return apiKey?.partition;
  return source === 'user' ? user : undefined;
}

interface Choice {
  readonly source: IdentitySource;
  readonly isThere: (source: IdentitySource) => boolean;
  readonly apiKey: ClaimedIdentity | undefined;
}

/** Which source speaks for the client, and why no other does. */
function recordSources(
  sources: readonly IdentitySource[],
  { source, isThere, apiKey }: Choice,
  record: Recorder,
): void {
  const isMadeUp = source === 'api_key' && apiKey?.unverified === true;
  const charged = isMadeUp ? '; nobody lists the key, so the address is charged, too' : '';
  for (const each of sources) {
    const kind = kindOf(each);
    if (each === source) record('identity', `${kind} speaks for the client${charged}`);
    else if (isThere(each)) record('identity', `${kind} comes after it`);
    else record('identity', `${kind}: the request has none that is believed`);
  }
}

/** What operators decided of the client, by any of its names. An exemption comes first. */
function overriddenAccess(
  { access }: Overrides,
  claims: readonly (string | undefined)[],
  address: AddressPartition,
  isOfClient: () => boolean,
): Access | undefined {
  const ofClaims = claims.map((claim) => claim && access.get(claim));
  const ofAddress = pseudonymsOf(address).map((pseudonym) => access.get(pseudonym));
  if (ofClaims.includes('exempt')) return 'exempt';
  if (ofAddress.includes('exempt') && isOfClient()) return 'exempt';
  return [...ofClaims, ...ofAddress].includes('blocked') ? 'blocked' : undefined;
}

/** On which list of the policy file the client is. An exemption comes first. */
function listedAccess(
  key: Standing | undefined,
  address: Standing,
  nowMs: number,
  isOfClient: () => boolean,
): Access | undefined {
  if (nowMs < address.exemptUntilMs && isOfClient()) return 'exempt';
  if (key !== undefined && nowMs < key.exemptUntilMs) return 'exempt';
  if (nowMs < address.blockedUntilMs) return 'blocked';
  if (key !== undefined && nowMs < key.blockedUntilMs) return 'blocked';
  return undefined;
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

/**
 * Finds the header of a request that identifies its client and has several values. Whichever of them headgate took,
 * an application may take another, with its quota, its plan and its block: such a request is refused. Users and
 * verified headers count only from trusted proxies.
 */
function compileAmbiguity({ sources, apiKeyHeader, userHeader, verifiedHeaders }: IdentityConfig) {
  const readsKeys = sources.includes('api_key');
  const ofProxies = [...(sources.includes('user') ? [userHeader] : []), ...verifiedHeaders];
  return ({ headers }: CheckRequest, trustedProxy: boolean): string | undefined => {
    if (readsKeys && hasAmbiguousKey(headers, apiKeyHeader)) return apiKeyHeader;
    return trustedProxy ? ofProxies.find((name) => hasSeveralValues(headers, name)) : undefined;
  };
}

function userOf(request: CheckRequest, header: string): string | undefined {
  const user = singleValue(request.headers, header);
  return user === undefined ? undefined : userPartition(user);
}

/** Looking an address up in the ranges costs more than remembering it. */
function remembered(set: AddressSet): (address: string) => boolean {
  const known = new LRUCache<string, boolean>({ max: REMEMBERED_ADDRESSES });
  return (address) => {
    let member = known.get(address);
    if (member === undefined) {
      member = set(address);
      known.set(address, member);
    }
    return member;
  };
}
