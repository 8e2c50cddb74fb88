import { z } from 'zod';
import { hint } from '../closest-word.ts';
import { holds } from '../refinement.ts';
import { addressRange } from './access-schema.ts';
import { credentialHeader, headerName } from './header-names.ts';
import { keyEntry } from './key-list.ts';
import { listed } from './schema-sentences.ts';
import { plan, user } from './vouched-schema.ts';

const addressRanges = z
  .array(addressRange)
  .describe('CIDR ranges, addresses, and the names loopback, private and cloudflare.');

const SET_BY = 'must be a list of the networks that set the header, or proxy';
const proxyItself = z
  .string()
  .regex(/^proxy$/, SET_BY)
  .transform(() => 'proxy' as const);

const addressHeader = z
  .strictObject({
    header: headerName.describe('The name of the header, such as fastly-client-ip.'),
    from: z
      .union([addressRanges.min(1), proxyItself], SET_BY)
      .describe(
        'The networks of the CDN that sets the header. Or proxy: headgate believes what a trusted proxy passes on.',
      ),
  })
  .describe('A header that holds the client address, and which networks may set it.');

const SOURCES = ['api_key', 'user', 'cf_connecting_ip', 'ip'] as const;
const source = z.union(
  [
    addressHeader,
    z.enum(SOURCES, {
      error: ({ input }) => (typeof input === 'string' ? noSource(input) : undefined),
    }),
  ],
  'must be api_key, user, cf_connecting_ip, ip, or a map with header and from',
);

/** People write names of headers here. */
function noSource(text: string): string {
  const problem = `must be ${listed(SOURCES, 'or')}, not "${text}"`;
  const meant = hint(text, SOURCES);
  if (meant !== '') return `${problem}${meant}`;
  const header = text.toLowerCase();
  if (/^(x-forwarded-for|forwarded|x-real-ip|remote_addr|peer)$/.test(header)) {
    return `${problem}: write ip, which is the address that a proxy of identity.trusted_proxies reports`;
  }
  if (/(^|-)(client|connecting)-ip$/.test(header)) {
    return `${problem}: write { header: ${header}, from: [networks that set it] }`;
  }
  if (/key|token|bearer|jwt|authorization/.test(header)) {
    return `${problem}: write api_key, and name the header in identity.api_key.header`;
  }
  if (/user|subject|account|session/.test(header)) {
    return `${problem}: write user, and name the header in identity.user.header`;
  }
  return problem;
}

const prefixBits = z.int().min(32).max(128);

const prefixFactor = z
  .union([z.string(), z.number()])
  .meta({ title: 'factor', examples: ['1x', '4x'] })
  .transform(
    holds((written: string | number) => {
      const factor = Number(/^(\d{1,5})x?$/.exec(String(written))?.[1] ?? Number.NaN);
      if (factor >= 1) return factor;
      throw new RangeError(`must be a multiple of the limit, such as 4x`);
    }),
  );

export interface PrefixFactor {
  readonly prefixBits: number;
  readonly factor: number;
}

/** Narrowest network first. Throws a RangeError if the factors do not rise with the size of the network. */
function orderPrefixes(written: Readonly<Record<string, number>>): PrefixFactor[] {
  const tiers = Object.entries(written)
    .map(([bits, factor]) => ({ prefixBits: Number(bits), factor }))
    .sort((a, b) => b.prefixBits - a.prefixBits);
  if (tiers.length === 0) throw new RangeError('must name a prefix, such as 64: 1x');
  for (const [i, { prefixBits, factor }] of tiers.entries()) {
    const narrower = tiers[i - 1];
    if (narrower !== undefined && factor <= narrower.factor) {
      throw new RangeError(
        `/${prefixBits} must have a higher factor than /${narrower.prefixBits}, which is inside it`,
      );
    }
  }
  if (tiers[0]?.factor !== 1) {
    throw new RangeError(`the longest prefix must have the factor 1x`);
  }
  return tiers;
}

const ipv6Prefixes = z
  .record(
    z
      .string()
      .regex(/^(3[2-9]|[4-9]\d|1[01]\d|12[0-8])$/, 'must be a prefix length from 32 to 128')
      .meta({ title: 'prefix length (32 to 128)' }),
    prefixFactor,
  )
  .refine((tiers) => Object.keys(tiers).length <= 4, 'must have at most 4 entries')
  .transform(holds(orderPrefixes))
  .describe(
    'In place of ipv6_prefix: up to 4 prefix lengths that count at the same time, each with a multiple of the limit.',
  );

const ip = z
  .strictObject({
    ipv6_prefix: prefixBits
      .optional()
      .describe('IPv6 addresses that share this many leading bits are one client. Default: 64.'),
    ipv6_prefixes: ipv6Prefixes.optional(),
  })
  .refine(
    ({ ipv6_prefix, ipv6_prefixes }) => ipv6_prefix === undefined || ipv6_prefixes === undefined,
    'has both ipv6_prefix and ipv6_prefixes, keep one of them',
  );

const KEYS =
  'must be redis, a list of keys, the name of a file with such a list, as in keys.yaml, or [redis, keys.yaml]';

const keyFile = z
  .string()
  .regex(/\.(ya?ml|json)$/, KEYS)
  .meta({ title: 'file', examples: ['keys.yaml'] });

const inStore = z
  .string()
  .regex(/^redis$/, {
    error: ({ input }) => `${KEYS}${hint(String(input).toLowerCase(), ['redis'])}`,
  })
  .meta({ title: 'redis' });

const keyList = z.array(z.union([inStore, keyFile, keyEntry], KEYS)).refine((list) => {
  const names = list.filter((each) => typeof each === 'string');
  const isPair = names.length === 2 && names.includes('redis') && names[0] !== names[1];
  return names.length === 0 || (isPair && list.length === 2);
}, 'must have either keys, or redis and one key file, as in [redis, keys.yaml]');

const keys = z
  .union([inStore, keyFile, keyList], KEYS)
  .default([])
  .describe(
    'The known keys: redis, where headgate keys adds them; a file that lists them; both; or a list. An unlisted key also counts for its address.',
  );

export const identitySchema = z.strictObject({
  sources: z
    .array(source)
    .min(1)
    .default(['api_key', 'cf_connecting_ip', 'ip'])
    .describe(
      'What identifies the client: the first of these that a request has. A map names a header that holds an address.',
    ),
  api_key: z
    .strictObject({
      header: credentialHeader
        .default('x-api-key')
        .describe('The header that holds the key. authorization means a Bearer token.'),
      keys,
      unverified_factor: z
        .int()
        .min(1)
        .max(100)
        .default(2)
        .describe(
          'All unlisted keys, or unverified headers, of one address together get this many times the limit.',
        ),
    })
    .prefault({})
    .describe('The known API keys, and the header that holds them.'),
  user,
  plan: plan.optional(),
  trusted_proxies: addressRanges
    .default(['loopback'])
    .describe(
      'Proxies that may report client addresses: CIDR ranges, addresses, and the names loopback, private and cloudflare.',
    ),
  forwarded_header: z
    .enum(['x-forwarded-for', 'forwarded'])
    .default('x-forwarded-for')
    .describe(
      'The list of addresses that trusted proxies append to. headgate walks it from the right, to the first address that is not a trusted proxy. It ignores the other header.',
    ),
  verified_headers: z
    .array(headerName)
    .default([])
    .describe(
      'Headers that a trusted proxy sets itself. If a limit is per any other header, the request also counts for its address.',
    ),
  ip: ip.prefault({}).describe('Which addresses count as one client.'),
});
