/** Reads the headers that tell clients apart: the ones that limits are per, and the ones with ambiguous values. */

import type { CheckRequest } from '../check-request.ts';
import type { HeaderPartition } from '../policy.ts';
import { hasAmbiguousKey } from './api-key.ts';
import { hasSeveralValues, isLoose, singleValue } from './header-value.ts';
import type { IdentitySource } from './identity-source.ts';
import { type ClaimedIdentity, headerPartition } from './partition.ts';
import type { Salts } from './salts.ts';

export type HeaderClaims = ReadonlyMap<HeaderPartition, ClaimedIdentity>;

const NO_CLAIMS: HeaderClaims = new Map();

export interface HeaderConfig {
  /** Names of the headers that limits are per. */
  readonly headers: readonly string[];
  readonly verifiedHeaders: readonly string[];
}

/** Finds the partitions for limits `per: header:NAME`. A header is verified only if a trusted proxy sets it. */
export function compileHeaderClaims({ headers, verifiedHeaders }: HeaderConfig) {
  return (request: CheckRequest, isTrustedProxy: boolean, { kept }: Salts): HeaderClaims => {
    if (headers.length === 0) return NO_CLAIMS;
    const claims = new Map<HeaderPartition, ClaimedIdentity>();
    for (const name of headers) {
      const value = singleValue(request.headers, name);
      if (value === undefined) continue;
      const unverified = !isTrustedProxy || !verifiedHeaders.includes(name);
      claims.set(`header:${name}`, { partition: headerPartition(value, kept), unverified });
    }
    return claims;
  };
}

export interface AmbiguityConfig extends HeaderConfig {
  readonly sources: readonly IdentitySource[];
  readonly apiKeyHeader: string;
  readonly userHeader: string;
}

/**
 * Finds a header that identifies the client and can be read in several ways. The application may read another value than
 * headgate, with another quota, plan or block, so such a request is denied. Users and addresses of a proxy that is not
 * trusted are ignored, so they are not checked.
 */
export function compileAmbiguity(config: AmbiguityConfig) {
  const { sources, apiKeyHeader, userHeader, headers: perHeader, verifiedHeaders } = config;
  const readsKeys = sources.includes('api_key');
  const proxyHeaders = [...(sources.includes('user') ? [userHeader] : []), ...verifiedHeaders];
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
