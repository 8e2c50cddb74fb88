import { Calendar } from '../../core/counting/calendar.ts';
import type { NeededHeader } from '../../core/header-watch.ts';
import { compileAccessLists, type ListEntry } from '../../core/identity/access-lists.ts';
import { compileAddressSet } from '../../core/identity/address.ts';
import type { IdentitySource } from '../../core/identity/claims.ts';
import { compileIdentity, type IdentityConfig } from '../../core/identity/identity.ts';
import { headersOf } from '../../core/identity/vouched.ts';
import { compilePolicySet, type PolicySet } from '../../core/matching/policy-set.ts';
import { MCP_METHOD, MCP_NAME } from '../../core/mcp/mcp-call.ts';
import { compilePolicy, type Factors, type LimitDefinition } from '../../core/policy.ts';
import { afterwardsOf } from './afterwards-schema.ts';
import { answerStyle } from './answers-schema.ts';
import { routesOf } from './match.ts';
import {
  type AccessList,
  countedHeadersOf,
  type DefaultEntry,
  type IdentitySection,
  keySources,
  type LimitEntry,
  mcpHeadersOf,
  type PolicyEntry,
  prefixesOf,
  reserveHeadersOf,
  sourceName,
  type ValidFile,
} from './valid-file.ts';

/** `rememberedAddresses`: see the address book of the core. */
export function compilePolicies(
  file: ValidFile,
  ranges: KnownRanges,
  rememberedAddresses?: number,
): PolicySet {
  const { identity, answers, caseSensitive, failureMode, fallback, entries } = file;
  const factors: Factors = {
    unverified: identity.api_key.unverified_factor,
    widerNetworks: prefixesOf(identity).slice(1),
  };
  const policyOf = (entry: DefaultEntry & Pick<PolicyEntry, 'name' | 'match'>) => {
    const { name, mode, cost, limits, plans, on_store_failure = failureMode } = entry;
    const usualBody = entry.match?.mcp && MCP_BODY;
    const definition = {
      ...{ name, mode, cost, onStoreFailure: on_store_failure },
      headers: entry.answers?.headers ?? answers.headers ?? 'standard',
      answers:
        entry.answers || usualBody ? answerStyle(answers, entry.answers, usualBody) : undefined,
      limits: limits.map(toLimitDefinition),
      plans: new Map(
        Object.entries(plans).map(([plan, each]) => [plan, each.map(toLimitDefinition)]),
      ),
    };
    return compilePolicy(definition, factors);
  };
  const routesWith = (always: boolean) =>
    entries
      .filter((entry) => entry.always === always)
      .flatMap((entry) => {
        const value = policyOf(entry);
        return routesOf(entry, caseSensitive).map(({ match }) => ({ ...match, value }));
      });
  const identityConfig = toIdentityConfig(file, ranges);
  return compilePolicySet({
    routes: routesWith(false),
    always: routesWith(true),
    fallback: policyOf({ ...fallback, name: 'default', match: undefined }),
    ...compileIdentity({ ...identityConfig, rememberedAddresses }),
    naming: identityConfig,
    neededHeaders: neededHeaders(identityConfig, [
      ...reserveHeadersOf([fallback, ...entries]),
      ...mcpHeadersOf(entries),
    ]),
    answers: answerStyle(answers),
    mcpAnswers: answerStyle(answers, {}, MCP_BODY),
    vouchesMcp: [MCP_METHOD, MCP_NAME].every((name) => identity.verified_headers.includes(name)),
    caseSensitive,
  });
}

const MCP_BODY = 'json-rpc';

function toLimitDefinition({
  rate: { limit, window, windowMs, calendar: unit },
  zone = 'UTC',
  per,
  algorithm,
  burst = limit,
  count_rejected: countRejected,
  ...charged
}: LimitEntry): LimitDefinition {
  const afterwards = afterwardsOf(charged);
  const written = { per, algorithm, limit, window, burst, countRejected, afterwards };
  if (unit === undefined) return { ...written, windowMs };
  const calendar = new Calendar(unit, zone);
  return { ...written, windowMs: calendar.longestMs, calendar };
}

export type KnownRanges = Readonly<Record<'cloudflare', readonly string[]>>;

function toIdentityConfig(file: ValidFile, ranges: KnownRanges): IdentityConfig {
  const { identity, keys, exempt, block, fallback, entries } = file;
  return {
    sources: identity.sources.map((source) => toSource(source, ranges)),
    apiKeyHeader: identity.api_key.header,
    apiKeys: keys.map(({ id, sha256, plan }) => ({ id, sha256, plan })),
    keysInStore: keySources(identity).inStore,
    user: identity.user,
    plan: identity.plan,
    trustedProxies: compileAddressSet(identity.trusted_proxies, ranges),
    forwardedHeader: identity.forwarded_header,
    headers: [...new Set(countedHeadersOf([fallback, ...entries]))],
    verifiedHeaders: identity.verified_headers,
    ipv6Prefixes: prefixesOf(identity).map(({ prefixBits }) => prefixBits),
    accessLists: compileAccessLists(exempt.map(toListEntry), block.map(toListEntry), ranges),
  };
}

/** The headers that a proxy must pass on for the gateway to tell clients and calls apart. */
function neededHeaders(config: IdentityConfig, more: readonly string[]): NeededHeader[] {
  const ofSources = config.sources.flatMap((source): NeededHeader[] => {
    if (source === 'api_key') return [sentByAnyone(config.apiKeyHeader)];
    if (source === 'user') return headersOf([config.user]).map(sentByAnyone);
    if (source === 'ip') return [];
    const { header, setBy } = source;
    return [{ name: header, sentBy: setBy === 'proxy' ? undefined : setBy }];
  });
  const others = [...config.headers, ...headersOf([config.plan]), ...more];
  const byName = new Map(
    [...ofSources, ...others.map(sentByAnyone)].map((each) => [each.name, each]),
  );
  return [...byName.values()];
}

function sentByAnyone(name: string): NeededHeader {
  return { name, sentBy: undefined };
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
