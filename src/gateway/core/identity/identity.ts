/** Decides which claims of a request are accepted. Code that runs after this sees no address and no API key. */

import type { CheckContext } from '../check-context.ts';
import type { CheckRequest, ForwardedHeader } from '../check-request.ts';
import type { Access, ClientAccess } from './access-lists.ts';
import { type AddressSet, canonicalAddress } from './address.ts';
import { type AddressBookOptions, createAddressBook, rememberMembers } from './address-book.ts';
import { type ApiKeyConfig, compileApiKeys } from './api-key.ts';
import {
  type AmbiguityConfig,
  chooseSource,
  claimedPartition,
  compileAmbiguity,
  compileHeaderClaims,
  type HeaderClaims,
  type IdentitySource,
  kindOf,
  traceSources,
} from './claims.ts';
import { compileAccess } from './client-access.ts';
import { compileAddressHeaders, forwardedAddress, NO_CLAIM } from './client-address.ts';
import { singleValue } from './header-value.ts';
import { type AddressPartition, type ClaimedIdentity, userPartition } from './partition.ts';
import { rememberPartitions } from './remembered.ts';

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

export interface IdentityConfig extends AmbiguityConfig, AddressBookOptions, ApiKeyConfig {
  readonly trustedProxies: AddressSet;
  readonly forwardedHeader: ForwardedHeader;
}

export type IdentityResolver = (request: CheckRequest, context: CheckContext) => ClientIdentity;

/** Stands for the address of a connection that is closed already. */
const NO_ADDRESS = '0.0.0.0';

export function compileIdentity(config: IdentityConfig): IdentityResolver {
  const { sources, userHeader, trustedProxies } = config;
  const trusts = rememberMembers(trustedProxies);
  const forwarding = { header: config.forwardedHeader, trusts };
  const addressBook = createAddressBook(config);
  const claimedAddress = compileAddressHeaders(addressHeadersOf(sources));
  const apiKeyOf = sources.includes('api_key') ? compileApiKeys(config) : undefined;
  const readsUser = sources.includes('user');
  const userPartitionOf = rememberPartitions(userPartition);
  const headerClaims = compileHeaderClaims(config);
  const ambiguousHeader = compileAmbiguity(config);
  const accessOf = compileAccess(trusts);
  const ignoredHeaders = compileIgnoredHeaders(config);

  return (request, context) => {
    const { trace, salts } = context;
    const proxy = canonicalAddress(request.addresses.proxy) ?? NO_ADDRESS;
    const isTrusted = trusts(proxy);
    trace?.({
      type: 'proxy',
      address: proxy,
      trustedBy: isTrusted ? trustedProxies.rangeOf(proxy) : undefined,
    });
    const forwarded = isTrusted
      ? forwardedAddress(request.addresses, forwarding, trace)
      : undefined;
    const claim = isTrusted ? claimedAddress(request, forwarded, trace) : NO_CLAIM;
    const reported = claim.address ?? forwarded;
    trace?.({ type: 'client-address', address: reported, proxy });
    const address = addressBook(reported ?? proxy, salts);
    const apiKey = apiKeyOf?.(request);
    const name = readsUser && isTrusted ? singleValue(request.headers, userHeader) : undefined;
    const user = name === undefined ? undefined : userPartitionOf(name, salts);
    const claims = { apiKey, user, addressHeader: claim.header, address, reported };
    if (trace) traceSources(sources, claims, trace);
    const source = chooseSource(sources, claims);
    const ambiguous = ambiguousHeader(request, isTrusted);
    if (ambiguous !== undefined) trace?.({ type: 'ambiguous-header', header: ambiguous });
    const access = accessOf(claims, context);
    return {
      kind: kindOf(source),
      partition: claimedPartition(source, claims) ?? address.partition.daily.current,
      address: address.partition,
      apiKey,
      user,
      plan: apiKey?.plan,
      headers: headerClaims(request, isTrusted, salts),
      access: access?.access,
      accessBy: access,
      isAmbiguous: ambiguous !== undefined,
      untrustedProxy: !isTrusted,
      ignoredHeaders: isTrusted ? claim.ignored : ignoredHeaders(request),
    };
  };
}

function addressHeadersOf(sources: readonly IdentitySource[]) {
  return sources.filter((source) => typeof source === 'object');
}

/** If a proxy is not trusted, every header that only a trusted proxy may set is ignored. */
function compileIgnoredHeaders({ sources, userHeader, verifiedHeaders }: IdentityConfig) {
  const proxyHeaders = [
    ...addressHeadersOf(sources).map(({ header }) => header),
    ...(sources.includes('user') ? [userHeader] : []),
    ...verifiedHeaders,
  ];
  return ({ addresses, headers }: CheckRequest): string[] =>
    [...addresses.headers, ...proxyHeaders].filter((name) => Object.hasOwn(headers, name));
}
