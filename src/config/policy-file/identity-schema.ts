/** The `identity` section of a policy file: who may say who a client is. */
import { z } from 'zod';
import { holds } from '../refinement.ts';
import { addressRange } from './address-range.ts';
import { keyListSchema } from './key-list.ts';

const headerName = z
  .string()
  .regex(/^[A-Za-z0-9-]+$/, 'must be a header name of letters, digits and "-"')
  .meta({ title: 'header name' })
  .transform((name) => name.toLowerCase());

/** What every client sends, what frames a message, and what says where a request comes from. */
const TAKEN_HEADER =
  /^(user-agent|host|cookie|connection|content-length|transfer-encoding|forwarded|x-forwarded-.*|x-real-ip|x-original-.*|x-headgate-.*)$/;

const credentialHeader = headerName.transform(
  holds((name: string) => {
    if (!TAKEN_HEADER.test(name)) return name;
    throw new RangeError(`"${name}" has a meaning of its own and identifies nobody`);
  }),
);

export const addressRanges = z
  .array(addressRange)
  .describe('CIDR ranges, addresses, and the names loopback, private, cloudflare.');

const SET_BY = 'must be a list of the ranges that set the header, or proxy';
const proxyItself = z
  .string()
  .regex(/^proxy$/, SET_BY)
  .transform(() => 'proxy' as const);

const addressHeader = z
  .strictObject({
    header: headerName.describe('Its name, such as fastly-client-ip.'),
    from: z
      .union([addressRanges.min(1), proxyItself], SET_BY)
      .describe(
        'The networks of the CDN that sets it, or proxy: whatever a trusted proxy passes on holds.',
      ),
  })
  .describe('A header that holds the client address, and who may set it.');

const source = z.union(
  [addressHeader, z.enum(['api_key', 'user', 'cf_connecting_ip', 'ip'])],
  'must be api_key, user, cf_connecting_ip, ip, or a map of a header and who may set it',
);

const prefixBits = z.int().min(32).max(128);

const prefixFactor = z
  .union([z.string(), z.number()])
  .meta({ title: 'factor', examples: ['1x', '4x'] })
  .transform(
    holds((written: string | number) => {
      const factor = Number(/^(\d{1,5})x?$/.exec(String(written))?.[1] ?? Number.NaN);
      if (factor >= 1) return factor;
      throw new RangeError(`must be how many times the limit the network may use, such as 4x`);
    }),
  );

export interface PrefixFactor {
  readonly prefixBits: number;
  readonly factor: number;
}

/** Narrowest network first. Throws a RangeError when a wider one has no higher limit. */
function orderPrefixes(written: Readonly<Record<string, number>>): PrefixFactor[] {
  const tiers = Object.entries(written)
    .map(([bits, factor]) => ({ prefixBits: Number(bits), factor }))
    .sort((a, b) => b.prefixBits - a.prefixBits);
  if (tiers.length === 0) throw new RangeError('must name a prefix, such as 64: 1x');
  for (const [i, { prefixBits, factor }] of tiers.entries()) {
    const narrower = tiers[i - 1];
    if (narrower !== undefined && factor <= narrower.factor) {
      throw new RangeError(
        `/${prefixBits} must have a higher factor than /${narrower.prefixBits} inside it`,
      );
    }
  }
  if (tiers[0]?.factor !== 1) {
    throw new RangeError(`the longest prefix must have the limit itself, 1x`);
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
    'In place of ipv6_prefix: up to 4 networks that count at once, each with so many times the limit.',
  );

const ip = z
  .strictObject({
    ipv6_prefix: prefixBits
      .optional()
      .describe('How many bits of an IPv6 address make one client. Default: 64.'),
    ipv6_prefixes: ipv6Prefixes.optional(),
  })
  .refine(
    ({ ipv6_prefix, ipv6_prefixes }) => ipv6_prefix === undefined || ipv6_prefixes === undefined,
    'has both ipv6_prefix and ipv6_prefixes, keep one of them',
  );

const KEYS = 'must be a list of keys, or the name of a file that holds one, such as keys.yaml';

const keyFile = z
  .string()
  .regex(/\.(ya?ml|json)$/, KEYS)
  .meta({ title: 'file', examples: ['keys.yaml'] });

export const identitySchema = z.strictObject({
  sources: z
    .array(source)
    .min(1)
    .default(['api_key', 'cf_connecting_ip', 'ip'])
    .describe(
      'Who the client is: the first of these that a request has. Headers that hold an address are maps.',
    ),
  api_key: z
    .strictObject({
      header: credentialHeader
        .default('x-api-key')
        .describe('The header that the key is in; authorization means Bearer.'),
      keys: z
        .union([keyFile, keyListSchema], KEYS)
        .default([])
        .describe(
          'Known keys, or the file that lists them. Any other key also counts for its address.',
        ),
      unverified_factor: z
        .int()
        .min(1)
        .max(100)
        .default(2)
        .describe(
          'How many times the limit the unlisted keys, or unverified headers, of one address may use together.',
        ),
    })
    .prefault({})
    .describe('What keys are known, and where they are in a request.'),
  user: z
    .strictObject({
      header: credentialHeader
        .default('x-user')
        .describe(
          'The header that an authenticating proxy sets. Believed of trusted proxies only.',
        ),
    })
    .prefault({})
    .describe('The user that a proxy has authenticated.'),
  trusted_proxies: addressRanges
    .default(['loopback'])
    .describe(
      'Who may say where a request comes from: CIDR ranges, addresses, and the names loopback, private, cloudflare.',
    ),
  forwarded_header: z
    .enum(['x-forwarded-for', 'forwarded'])
    .default('x-forwarded-for')
    .describe(
      'The list that trusted proxies maintain, walked from the right to the first address that is none of theirs. The other one is not read.',
    ),
  verified_headers: z
    .array(headerName)
    .default([])
    .describe(
      'Headers that a trusted proxy sets itself. Any other that a limit is per also counts for the address.',
    ),
  ip: ip.prefault({}).describe('How many addresses make one client.'),
});

export type IdentitySection = z.output<typeof identitySchema>;
