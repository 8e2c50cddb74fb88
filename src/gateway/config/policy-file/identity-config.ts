/** Converts the `identity` section of a policy file to the configuration of the core. */

import type { NeededHeader } from '../../core/header-watch.ts';
import { compileAccessLists, type ListEntry } from '../../core/identity/access-lists.ts';
import { compileAddressSet } from '../../core/identity/address.ts';
import type { IdentityConfig } from '../../core/identity/identity.ts';
import type { IdentitySource } from '../../core/identity/identity-source.ts';
import type { AccessList } from './access-schema.ts';
import type { IdentitySection, PrefixFactor } from './identity-schema.ts';
import type { KeyEntry } from './key-list.ts';
import type { LimitEntry } from './limit-schema.ts';

/** Address ranges that a policy file may name. */
export type KnownRanges = Readonly<Record<'cloudflare', readonly string[]>>;

export interface IdentityParts {
  readonly identity: IdentitySection;
  readonly keys: readonly KeyEntry[];
  readonly exempt: AccessList;
  readonly block: AccessList;
  /** Every limit of the file. */
  readonly limits: readonly LimitEntry[];
}

export function toIdentityConfig(parts: IdentityParts, ranges: KnownRanges): IdentityConfig {
  const { identity, keys, exempt, block, limits } = parts;
  const headers = limits
    .filter(({ per }) => per.startsWith('header:'))
    .map(({ per }) => per.slice('header:'.length));
  return {
    sources: identity.sources.map((source) => toSource(source, ranges)),
    apiKeyHeader: identity.api_key.header,
    apiKeys: keys.map(({ id, sha256, plan }) => ({ id, sha256, plan })),
    userHeader: identity.user.header,
    trustedProxies: compileAddressSet(identity.trusted_proxies, ranges),
    forwardedHeader: identity.forwarded_header,
    headers: [...new Set(headers)],
    verifiedHeaders: identity.verified_headers,
    ipv6Prefixes: prefixesOf(identity).map(({ prefixBits }) => prefixBits),
    accessLists: compileAccessLists(exempt.map(toListEntry), block.map(toListEntry), ranges),
  };
}

/** The headers that a proxy must pass on for the gateway to tell clients apart. */
export function neededHeaders(config: IdentityConfig): NeededHeader[] {
  const ofSources = config.sources.flatMap((source): NeededHeader[] => {
    if (source === 'api_key') return [{ name: config.apiKeyHeader, sentBy: undefined }];
    if (source === 'user') return [{ name: config.userHeader, sentBy: undefined }];
    if (source === 'ip') return [];
    const { header, setBy } = source;
    return [{ name: header, sentBy: setBy === 'proxy' ? undefined : setBy }];
  });
  const ofLimits = config.headers.map((name) => ({ name, sentBy: undefined }));
  const byName = new Map([...ofSources, ...ofLimits].map((each) => [each.name, each]));
  return [...byName.values()];
}

/** Narrowest network first. The first has a factor of 1. */
export function prefixesOf({ ip }: IdentitySection): readonly PrefixFactor[] {
  return ip.ipv6_prefixes ?? [{ prefixBits: ip.ipv6_prefix ?? 64, factor: 1 }];
}

/** The name of a source in the file, in logs and metrics. An address header has the name of the header. */
export function sourceName(source: IdentitySection['sources'][number]): string {
  return typeof source === 'string' ? source : source.header.replaceAll('-', '_');
}

function toSource(
  source: IdentitySection['sources'][number],
  { cloudflare }: KnownRanges,
): IdentitySource {
  if (source === 'cf_connecting_ip') {
    return { header: 'cf-connecting-ip', kind: source, setBy: compileAddressSet(cloudflare) };
  }
  if (typeof source === 'string') return source;
  const { header, from } = source;
  const setBy = from === 'proxy' ? from : compileAddressSet(from, { cloudflare });
  return { header, kind: sourceName(source), setBy };
}

function toListEntry({ expires, ...entry }: AccessList[number]): ListEntry {
  return { ...entry, expiresMs: expires ?? Number.POSITIVE_INFINITY };
}
