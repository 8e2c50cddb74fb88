/** Decides which claims of a request are accepted. Code that runs after this sees no address and no API key. */

import type { CheckContext } from '../check-context.ts';
import type { CheckRequest } from '../check-request.ts';
import type { Access, ClientAccess } from './access-lists.ts';
import { type AddressBookOptions, createAddressBook, rememberMembers } from './address-book.ts';
import { type ApiKeyConfig, compileApiKeys } from './api-key.ts';
import {
  type AmbiguityConfig,
  chooseSource,
  claimedPartition,
  compileAmbiguity,
  compileHeaderClaims,
  type HeaderClaims,
  kindOf,
  traceSources,
  vouchedHeaders,
} from './claims.ts';
import { compileAccess } from './client-access.ts';
import { addressHeadersOf, compileOrigin, type OriginConfig } from './origin.ts';
import { type AddressPartition, type ClaimedIdentity, userPartition } from './partition.ts';
import { compilePlans } from './plans.ts';
import { rememberPartitions } from './remembered.ts';
import { compileVouched } from './vouched.ts';

export interface ClientIdentity {
  /** `api_key`, `user`, `ip`, or the kind of an address header. */
  readonly kind: string;
  readonly partition: string;
  readonly address: AddressPartition;
  /** The API key and the user of the request, whether or not they identify the client. */
  readonly apiKey: ClaimedIdentity | undefined;
  readonly user: string | undefined;
  readonly plan: string | undefined;
  readonly headers: HeaderClaims;
  readonly access: Access | undefined;
  readonly accessBy: ClientAccess | undefined;
  readonly isAmbiguous: boolean;
  readonly untrustedProxy: boolean;
  readonly ignoredHeaders: readonly string[];
}

export interface IdentityConfig
  extends AmbiguityConfig,
    AddressBookOptions,
    ApiKeyConfig,
    OriginConfig {}

export interface Identity {
  readonly identify: IdentityResolver;
  /**
   * Looks up the key of the request if the store lists keys, and this process does not know it. Undefined if there is
   * nothing to wait for.
   */
  readonly lookUpKey: (request: CheckRequest, context: CheckContext) => Promise<void> | undefined;
}

type IdentityResolver = (request: CheckRequest, context: CheckContext) => ClientIdentity;

export function compileIdentity(config: IdentityConfig): Identity {
  const { sources, keysInStore } = config;
  const trusts = rememberMembers(config.trustedProxies);
  const originOf = compileOrigin(config, trusts);
  const addressBook = createAddressBook(config);
  const apiKeys = sources.includes('api_key') ? compileApiKeys(config) : undefined;
  const userOf = sources.includes('user') ? compileVouched(config.user) : undefined;
  const userPartitionOf = rememberPartitions(userPartition);
  const headerClaims = compileHeaderClaims(config);
  const plans = compilePlans(config.plan);
  const ambiguousHeader = compileAmbiguity(config);
  const accessOf = compileAccess(trusts);
  const ignoredHeaders = compileIgnoredHeaders(config);

  return {
    identify(request, context) {
      const { trace, salts, nowMs, keys } = context;
      const { isTrusted, claim, reported, counted } = originOf(request, trace);
      const address = addressBook(counted, salts);
      const apiKey = apiKeys?.keyOf(request, nowMs, keysInStore ? keys : undefined);
      const name = isTrusted ? userOf?.(request) : undefined;
      const user = name === undefined ? undefined : userPartitionOf(name, salts);
      const claims = { apiKey, user, addressHeader: claim.header, address, reported };
      if (trace) traceSources(sources, claims, trace);
      const source = chooseSource(sources, claims);
      const ambiguous = ambiguousHeader(request, isTrusted);
      if (ambiguous !== undefined) trace?.({ type: 'ambiguous-header', header: ambiguous });
      const headers = headerClaims(request, isTrusted, salts);
      if (trace) {
        if (keysInStore && apiKeys) traceStored(apiKeys.unlistedDigests(request), context);
        plans.trace(request, { apiKey, user, headers, isTrusted }, trace);
      }
      const access = accessOf(claims, context);
      return {
        kind: kindOf(source),
        partition: claimedPartition(source, claims) ?? address.partition.daily.current,
        address: address.partition,
        apiKey,
        user,
        plan:
          apiKey?.plan ??
          (isTrusted ? plans.named?.(request, { apiKey, user, headers }) : undefined),
        headers,
        access: access?.access,
        accessBy: access,
        isAmbiguous: ambiguous !== undefined,
        untrustedProxy: !isTrusted,
        ignoredHeaders: isTrusted ? claim.ignored : ignoredHeaders(request),
      };
    },
    lookUpKey(request, { keys, salts }) {
      if (apiKeys === undefined || !keysInStore || keys === undefined) return undefined;
      const digests = apiKeys.unlistedDigests(request);
      if (digests.length === 0) return undefined;
      const addressOf = () =>
        addressBook(originOf(request, undefined).counted, salts).partition.daily.current;
      return keys.lookUp(digests, addressOf);
    },
  };
}

/** Why a key that the store lists may count as unlisted. `digests`: those of what may be the key. */
function traceStored(digests: readonly string[], { keys, nowMs, trace }: CheckContext): void {
  if (digests.length > 0 && keys === undefined) trace?.({ type: 'keys-not-looked-up' });
  const isFound = digests.some((digest) => keys?.find(digest) !== undefined);
  if (keys && !isFound && !digests.every((digest) => keys.isKnown(digest))) {
    trace?.({ type: 'key-unread' });
  }
  for (const digest of digests) {
    const { id, endsMs } = keys?.find(digest) ?? {};
    if (id !== undefined && endsMs !== undefined && endsMs <= nowMs) {
      trace?.({ type: 'key-ended', id, endsMs });
    }
  }
}

/** If a proxy is not trusted, every header that only a trusted proxy may set is ignored. */
function compileIgnoredHeaders(config: IdentityConfig) {
  const proxyHeaders = new Set([
    ...addressHeadersOf(config.sources).map(({ header }) => header),
    ...vouchedHeaders(config),
    ...config.verifiedHeaders,
  ]);
  return ({ addresses, headers }: CheckRequest): string[] =>
    [...addresses.headers, ...proxyHeaders].filter((name) => Object.hasOwn(headers, name));
}
