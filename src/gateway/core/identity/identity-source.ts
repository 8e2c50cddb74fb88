/** The sources of a client's identity, in configured order: the first one that a request has identifies the client. */

import type { Trace } from '../trace.ts';
import type { ApiKey } from './api-key.ts';
import type { AddressHeader } from './client-address.ts';

export type IdentitySource = 'api_key' | 'user' | 'ip' | AddressHeader;

export interface IdentityClaims {
  readonly apiKey: ApiKey | undefined;
  readonly user: string | undefined;
  readonly addressHeader: AddressHeader | undefined;
}

/** `api_key`, `user`, `ip`, or the kind of the address header. */
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

/** Traces which source identifies the client, and why the others do not. */
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
