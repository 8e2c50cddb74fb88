/** Advice on trust that reaches further than its author probably meant, and on users and addresses that clients can choose. */
import type { DiagnosticDraft, Path } from '../../../gateway/config/diagnostic.ts';
import { ageOf, type CloudflareRanges } from '../../../gateway/config/policy-file/read.ts';
import {
  type IdentitySection,
  prefixesOf,
  type ValidFile,
} from '../../../gateway/config/policy-file/valid-file.ts';
import { canonicalAddress, compileAddressSet } from '../../../gateway/core/identity/address.ts';
import { clientWrittenFrom } from '../../../gateway/core/identity/client-written-metadata.ts';
import { spanOf } from './address-span.ts';

interface WrittenRange {
  readonly range: string;
  readonly path: Path;
}

interface Today {
  readonly cloudflare: CloudflareRanges;
  readonly nowMs: number;
  readonly isWritten: (path: Path) => boolean;
}

export function adviceOnTrust(file: ValidFile, today: Today): DiagnosticDraft[] {
  const trusted = trustedRanges(file.identity);
  const exempt = listedRanges(file, 'exempt');
  const all = [...trusted, ...exempt, ...listedRanges(file, 'block')];
  return [
    ...[...trusted, ...exempt].filter(({ range }) => isWide(range)).map(unsafe),
    ...all.flatMap(hostBits),
    ...trusted.filter(({ range }) => range === 'private').map(sharedNetworks),
    ...noTrustedProxy(file.identity),
    ...headersFromProxy(file.identity),
    ...credentialsAsUser(file.identity),
    ...planFromClient(file.identity),
    ...metadataFromClient(file.identity),
    ...narrowNetworks(file.identity),
    ...oldList(all, file, today),
  ];
}

function trustedRanges({ trusted_proxies, sources }: IdentitySection): WrittenRange[] {
  return [
    ...trusted_proxies.map((range, i) => ({ range, path: ['identity', 'trusted_proxies', i] })),
    ...sources.flatMap((source, i) => {
      const from = typeof source === 'object' && source.from !== 'proxy' ? source.from : [];
      return from.map((range, j) => ({ range, path: ['identity', 'sources', i, 'from', j] }));
    }),
  ];
}

function listedRanges(file: ValidFile, section: 'exempt' | 'block'): WrittenRange[] {
  return file[section].flatMap(({ address }, i) =>
    address === undefined ? [] : [{ range: address, path: [section, i] }],
  );
}

/** No single operator has so many addresses: registries allocate networks of these sizes. */
const WIDEST_IPV4_BITS = 8;
const WIDEST_IPV6_BITS = 16;
/** NAT64 writes all IPv4 addresses below this prefix. */
const NAT64 = '64:ff9b::';
const NAT64_BITS = 96;

const isLocal = compileAddressSet(['loopback', 'private']);

function isWide(range: string): boolean {
  const span = spanOf(range);
  if (span === undefined || (isLocal(span.first) && isLocal(span.last))) return false;
  if (!span.first.includes(':')) return span.bits <= WIDEST_IPV4_BITS;
  const isNat64 = span.first.startsWith(NAT64) && span.bits >= NAT64_BITS;
  return span.bits <= (isNat64 ? NAT64_BITS + WIDEST_IPV4_BITS : WIDEST_IPV6_BITS);
}

function unsafe({ range, path }: WrittenRange): DiagnosticDraft {
  const message = `${range} contains addresses of many operators, name the networks you mean`;
  return { rule: 'unsafe-trust', path, message };
}

function hostBits({ range, path }: WrittenRange): DiagnosticDraft[] {
  const span = spanOf(range);
  const [written = '', bits] = range.split('/');
  if (span === undefined || bits === undefined || canonicalAddress(written) === span.first)
    return [];
  const message = `${range} means ${span.first}/${bits}: write that, or ${written} for a single address`;
  return [{ rule: 'host-bits-set', path, message }];
}

function sharedNetworks({ path }: WrittenRange): DiagnosticDraft {
  const message =
    'every machine of your private networks may report client addresses; name the proxies if other machines share these networks';
  return { rule: 'private-trust', path, message };
}

function noTrustedProxy({ trusted_proxies }: IdentitySection): DiagnosticDraft[] {
  if (trusted_proxies.length > 0) return [];
  const message = 'no proxy is trusted, so all clients of a proxy share one counter';
  return [{ rule: 'no-trusted-proxy', path: ['identity', 'trusted_proxies'], message }];
}

function headersFromProxy({ sources }: IdentitySection): DiagnosticDraft[] {
  return sources.flatMap((source, i) => {
    if (typeof source === 'string' || source.from !== 'proxy') return [];
    const message = `headgate believes ${source.header} as the proxy passes it on: the proxy must set or remove it`;
    return [{ rule: 'header-from-proxy', path: ['identity', 'sources', i, 'from'], message }];
  });
}

function credentialsAsUser({ sources, user }: IdentitySection): DiagnosticDraft[] {
  const isCredentials = 'header' in user && user.header === 'authorization';
  if (!sources.includes('user') || !isCredentials) return [];
  const message =
    'clients set it themselves: name a header that your proxy sets, such as x-user, or set identity.api_key.header to authorization';
  return [{ rule: 'credentials-as-user', path: ['identity', 'user', 'header'], message }];
}

function planFromClient({ sources, api_key, plan }: IdentitySection): DiagnosticDraft[] {
  const ofClients = ['authorization', 'proxy-authorization'];
  if (sources.includes('api_key')) ofClients.push(api_key.header);
  if (plan === undefined || !('header' in plan) || !ofClients.includes(plan.header)) return [];
  const message = 'clients set it themselves: name a header that your proxy sets, such as x-plan';
  return [{ rule: 'plan-from-client', path: ['identity', 'plan', 'header'], message }];
}

function metadataFromClient({ sources, user, plan }: IdentitySection): DiagnosticDraft[] {
  const vouched = { ...(sources.includes('user') && { user }), ...(plan && { plan }) };
  return Object.entries(vouched).flatMap(([key, each]) => {
    const from = 'metadata' in each ? clientWrittenFrom(each.metadata) : undefined;
    if (from === undefined) return [];
    const message = `its values come from ${from}, so clients choose their ${key}: name metadata of a filter that verifies, such as envoy.filters.http.jwt_authn`;
    return [{ rule: 'metadata-from-client', path: ['identity', key, 'metadata'], message }];
  });
}

/** Providers assign at least a network of this size to each customer. */
const CUSTOMER_BITS = 64;

function narrowNetworks(identity: IdentitySection): DiagnosticDraft[] {
  const widest = Math.min(...prefixesOf(identity).map(({ prefixBits }) => prefixBits));
  if (widest <= CUSTOMER_BITS) return [];
  const key = identity.ip.ipv6_prefixes === undefined ? 'ipv6_prefix' : 'ipv6_prefixes';
  const message = `each /${widest} is a client, and a customer with a /64 has many of them: count 64 bits as well`;
  return [{ rule: 'networks-too-narrow', path: ['identity', 'ip', key], message }];
}

const COMPARE = 'compare it with https://www.cloudflare.com/ips/';

function oldList(
  ranges: readonly WrittenRange[],
  { identity }: ValidFile,
  { cloudflare, nowMs, isWritten }: Today,
): DiagnosticDraft[] {
  const named = ranges.flatMap(({ range, path }) => (range === 'cloudflare' ? [path] : []));
  const source = identity.sources.indexOf('cf_connecting_ip');
  const sources = source === -1 ? [] : [['identity', 'sources', source]];
  const path = [...sources, ...named].find(isWritten);
  const age = ageOf(cloudflare, nowMs);
  if (path === undefined || age === undefined) return [];
  if (cloudflare.isShipped === true) {
    const message = `${age}; it came with headgate: ${COMPARE}, or update headgate`;
    return [{ rule: 'shipped-cloudflare-list-old', path, message }];
  }
  return [
    { rule: 'cloudflare-list-old', path, message: `${age}: ${COMPARE}, and update "checked"` },
  ];
}
