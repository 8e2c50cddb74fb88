/** The lists of clients whom no policy counts, and of those whom nothing lets in. */
import { z } from 'zod';
import { holds, Refusal } from '../refinement.ts';
import { addressRange } from './address-range.ts';

const expires = z
  .string()
  .meta({ title: 'date or time', examples: ['2026-12-31', '2026-12-31T18:00:00Z'] })
  .transform(holds(parseTime))
  .describe('From then on the entry means nothing. A date begins at 00:00 UTC.');

/** Milliseconds since the epoch. Throws a RangeError that says how it would be right. */
function parseTime(text: string): number {
  const isTime = z.union([z.iso.date(), z.iso.datetime({ offset: true })]).safeParse(text).success;
  if (isTime) return Date.parse(text);
  throw new RangeError('must be a date such as 2026-12-31, or a time such as 2026-12-31T18:00:00Z');
}

/** Not repeated: a key that somebody wants to block may stand in its place. */
const NO_ADDRESS = 'is no address, CIDR range such as 10.0.0.0/8, loopback or private';
const NAT64_RANGE = /^64:ff9b::[^/]*\//i;
const address = z
  .string()
  .meta({ title: 'address range', examples: ['203.0.113.0/24', '10.9.0.7'] })
  .transform(
    holds((text: string) => {
      if (NAT64_RANGE.test(text)) throw new RangeError('is of NAT64, name the IPv4 addresses');
      const result = addressRange.safeParse(text);
      if (result.success) return result.data;
      if (!/\/0+$/.test(text)) throw new RangeError(NO_ADDRESS);
      throw new Refusal('range-of-everyone', 'is everyone, name a narrower range');
    }),
  );

const entry = z
  .strictObject({
    address: address
      .optional()
      .describe('Whom the entry is for: a CIDR range, an address, loopback or private.'),
    key: z.string().min(1).max(64).optional().describe('Or for whom: the id of a listed API key.'),
    expires: expires.optional(),
    comment: z.string().max(1_000).optional().describe('For people.'),
  })
  .refine(
    ({ address, key }) => (address === undefined) !== (key === undefined),
    'must name either an address or a key',
  );

/** `10.0.0.0/8` is short for `{ address: 10.0.0.0/8 }`. */
export const accessSchema = z
  .array(
    z.union(
      [address.transform((range) => ({ address: range })), entry],
      'must be an address, or a map of an address or a key',
    ),
  )
  .transform((entries) =>
    entries.map((each) => ({ key: undefined, address: undefined, expires: undefined, ...each })),
  );

export type AccessList = z.output<typeof accessSchema>;
export type AccessEntry = AccessList[number];
