/** What a request claims about its client: which source identifies it, and what its headers say. */
import type { CheckRequest } from '../check-request.ts';
import type { HeaderPartition } from '../policy.ts';
import type { Trace } from '../trace.ts';
import { type ApiKey, hasAmbiguousKey } from './api-key.ts';
import type { AddressHeader } from './client-address.ts';
import { hasSeveralValues, isLoose, singleValue } from './header-value.ts';
import { type ClaimedIdentity, headerPartition } from './partition.ts';
import { rememberPartitions } from './remembered.ts';
import type { Salts } from './salts.ts';
import { headersOf, type Vouched } from './vouched.ts';

/** In configured order, the first source that a request has identifies its client. */
export type IdentitySource = 'api_key' | 'user' | 'ip' | AddressHeader;

export interface IdentityClaims {
  readonly apiKey: ApiKey | undefined;
  readonly user: string | undefined;
  readonly addressHeader: AddressHeader | undefined;
}

export function kindOf(source: IdentitySource): string {
  return typeof source === 'object' ? source.kind : source;
}

/** The address is the last resort, even if it is not configured. */
export function chooseSource(
  sources: readonly IdentitySource[],
  claims: IdentityClaims,
): IdentitySource {
  for (const source of sources) if (isPresent(source, claims)) return source;
  return 'ip';
}

function isPresent(source: IdentitySource, claims: IdentityClaims): boolean {
  if (source === 'api_key') return claims.apiKey !== undefined;
  if (source === 'user') return claims.user !== undefined;
  return source === 'ip' || source === claims.addressHeader;
}

/** The partition of the key or user that identifies the client; undefined if its address does. */
export function claimedPartition(
  source: IdentitySource,
  { apiKey, user }: IdentityClaims,
): string | undefined {
  if (source === 'api_key') return apiKey?.partition;
  return source === 'user' ? user : undefined;
}

export function traceSources(
  sources: readonly IdentitySource[],
  claims: IdentityClaims,
  trace: Trace,
): void {
  const chosen = chooseSource(sources, claims);
  for (const each of sources) {
    const isUsed = each === chosen;
    trace({
      type: 'identity-source',
      source: kindOf(each),
      result: isUsed ? 'used' : isPresent(each, claims) ? 'outranked' : 'absent',
      isUnverified: isUsed && each === 'api_key' && claims.apiKey?.unverified === true,
    });
  }
}

export type HeaderClaims = ReadonlyMap<HeaderPartition, ClaimedIdentity>;

const NO_CLAIMS: HeaderClaims = new Map();

export interface HeaderConfig {
  readonly headers: readonly string[];
  readonly verifiedHeaders: readonly string[];
}

/** Finds the partitions for limits `per: header:NAME`. A header is verified only if a trusted proxy sets it. */
export function compileHeaderClaims({ headers, verifiedHeaders }: HeaderConfig) {
  const partitionOf = rememberPartitions(headerPartition);
  return (request: CheckRequest, isTrustedProxy: boolean, salts: Salts): HeaderClaims => {
    if (headers.length === 0) return NO_CLAIMS;
    const claims = new Map<HeaderPartition, ClaimedIdentity>();
    for (const name of headers) {
      const value = singleValue(request.headers, name);
      if (value === undefined) continue;
      const unverified = !isTrustedProxy || !verifiedHeaders.includes(name);
      claims.set(`header:${name}`, { partition: partitionOf(value, salts), unverified });
    }
    return claims;
  };
}

export interface AmbiguityConfig extends HeaderConfig {
  readonly sources: readonly IdentitySource[];
  readonly apiKeyHeader: string;
  readonly user: Vouched;
  readonly plan: Vouched | undefined;
}

/** The headers by which proxies name users and plans. */
export function vouchedHeaders({ sources, user, plan }: AmbiguityConfig): string[] {
  return headersOf([sources.includes('user') ? user : undefined, plan]);
}

/**
 * Finds a header that identifies the client and can be read in several ways. The application may read another value than
 * headgate, with another quota, plan or block, so such a request is denied. Users and addresses of a proxy that is not
 * trusted are ignored, so they are not checked.
 */
export function compileAmbiguity(config: AmbiguityConfig) {
  const { sources, apiKeyHeader, headers: perHeader, verifiedHeaders } = config;
  const readsKeys = sources.includes('api_key');
  // The others say what a request reserves. Those that can be read in several ways reserve the most.
  const perVerified = verifiedHeaders.filter((name) => perHeader.includes(name));
  const proxyHeaders = [...vouchedHeaders(config), ...perVerified];
  const addressHeaders = sources.flatMap((each) => (typeof each === 'object' ? [each.header] : []));
  const trustedHeaders = [...proxyHeaders, ...addressHeaders];
  return ({ headers }: CheckRequest, isTrustedProxy: boolean): string | undefined => {
    if (readsKeys && hasAmbiguousKey(headers, apiKeyHeader)) return apiKeyHeader;
    const loose = perHeader.find((name) => isLoose(headers, name));
    if (loose !== undefined || !isTrustedProxy) return loose;
    return (
      proxyHeaders.find((name) => hasSeveralValues(headers, name)) ??
      trustedHeaders.find((name) => isLoose(headers, name))
    );
  };
}
