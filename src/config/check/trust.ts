/** Trust that goes further than it is meant to: who may say whose a request is, and what one client can be many of. */
import { canonicalAddress, compileAddressSet } from '../../core/address.ts';
import { ageOf, type CloudflareRanges } from '../policy-file/cloudflare-ranges.ts';
import type { ValidFile } from '../policy-file/compile.ts';
import { prefixesOf } from '../policy-file/identity-config.ts';
import type { IdentitySection } from '../policy-file/identity-schema.ts';
import type { Remark } from '../unplaced-diagnostic.ts';
import type { Path } from '../yaml-text.ts';
import { spanOf } from './address-span.ts';

interface Trusted {
  readonly range: string;
  readonly path: Path;
}

interface Today {
  readonly cloudflare: CloudflareRanges;
  readonly nowMs: number;
  readonly isWritten: (path: Path) => boolean;
}

export function adviceOnTrust(file: ValidFile, today: Today): Remark[] {
  const vouching = vouchingRanges(file.identity);
  const exempt = listedRanges(file, 'exempt');
  return [
    ...[...vouching, ...exempt].filter(({ range }) => isWide(range)).map(unsafe),
    ...[...vouching, ...exempt, ...listedRanges(file, 'block')].flatMap(hostBits),
    ...vouching.filter(({ range }) => range === 'private').map(sharedNetworks),
    ...nobodyTrusted(file.identity),
    ...headersFromProxy(file.identity),
    ...narrowNetworks(file.identity),
    ...oldList([...vouching, ...exempt, ...listedRanges(file, 'block')], file, today),
  ];
}

/** Whose word counts. */
function vouchingRanges({ trusted_proxies, sources }: IdentitySection): Trusted[] {
  return [
    ...trusted_proxies.map((range, i) => ({ range, path: ['identity', 'trusted_proxies', i] })),
    ...sources.flatMap((source, i) => {
      const from = typeof source === 'object' && source.from !== 'proxy' ? source.from : [];
      return from.map((range, j) => ({ range, path: ['identity', 'sources', i, 'from', j] }));
    }),
  ];
}

function listedRanges(file: ValidFile, section: 'exempt' | 'block'): Trusted[] {
  return file[section].flatMap(({ address }, i) =>
    address === undefined ? [] : [{ range: address, path: [section, i] }],
  );
}

/** More than any one operator has: registries have whole networks of these sizes. */
const WIDEST_IPV4_BITS = 8;
const WIDEST_IPV6_BITS = 16;
/** The IPv4 Internet, as NAT64 writes it. */
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

function unsafe({ range, path }: Trusted): Remark {
  const message = `${range} has strangers in it, name the networks that are meant`;
  return { rule: 'unsafe-trust', path, message };
}

/** More than one address that is not the first of its network. */
function hostBits({ range, path }: Trusted): Remark[] {
  const span = spanOf(range);
  const [written = '', bits] = range.split('/');
  if (span === undefined || bits === undefined || canonicalAddress(written) === span.first)
    return [];
  const message = `${range} means ${span.first}/${bits}: write that, or ${written} for one address`;
  return [{ rule: 'host-bits-set', path, message }];
}

function sharedNetworks({ path }: Trusted): Remark {
  const message =
    'every machine of a private network may say who a client is; name the proxies if others share it';
  return { rule: 'private-trust', path, message };
}

function nobodyTrusted({ trusted_proxies }: IdentitySection): Remark[] {
  if (trusted_proxies.length > 0) return [];
  const message = 'no proxy is trusted: all clients of a proxy count as one';
  return [{ rule: 'no-trusted-proxy', path: ['identity', 'trusted_proxies'], message }];
}

function headersFromProxy({ sources }: IdentitySection): Remark[] {
  return sources.flatMap((source, i) => {
    if (typeof source === 'string' || source.from !== 'proxy') return [];
    const message = `${source.header} is believed as the proxy passes it on: it must set it or remove it`;
    return [{ rule: 'header-from-proxy', path: ['identity', 'sources', i, 'from'], message }];
  });
}

/** What a provider gives to one customer has at least so many addresses with other bits. */
const CUSTOMER_BITS = 64;

function narrowNetworks(identity: IdentitySection): Remark[] {
  const widest = Math.min(...prefixesOf(identity).map(({ prefixBits }) => prefixBits));
  if (widest <= CUSTOMER_BITS) return [];
  const key = identity.ip.ipv6_prefixes === undefined ? 'ipv6_prefix' : 'ipv6_prefixes';
  const message = `every /${widest} is a client, and whoever has a /64 has many: count 64 bits as well`;
  return [{ rule: 'networks-too-narrow', path: ['identity', 'ip', key], message }];
}

const COMPARE = 'compare it with https://www.cloudflare.com/ips/';

/** Of a file that trusts Cloudflare with something, and says so. */
function oldList(
  ranges: readonly Trusted[],
  { identity }: ValidFile,
  { cloudflare, nowMs, isWritten }: Today,
): Remark[] {
  const named = ranges.flatMap(({ range, path }) => (range === 'cloudflare' ? [path] : []));
  const source = identity.sources.indexOf('cf_connecting_ip');
  const sources = source === -1 ? [] : [['identity', 'sources', source]];
  const path = [...sources, ...named].find(isWritten);
  const age = ageOf(cloudflare, nowMs);
  if (path === undefined || age === undefined) return [];
  return cloudflare.isShipped === true
    ? [
        {
          rule: 'shipped-cloudflare-list-old',
          path,
          message: `${age}, as it came with headgate: ${COMPARE}, or update headgate`,
        },
      ]
    : [
        {
          rule: 'cloudflare-list-old',
          path,
          message: `${age}: ${COMPARE}, and set "checked" to that day`,
        },
      ];
}
