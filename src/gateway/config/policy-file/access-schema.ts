import { z } from 'zod';
import { compileAddressSet } from '../../core/identity/address.ts';
import { checkedText, Refusal } from '../refinement.ts';

export const addressRange = checkedText(checkAddressRange, {
  title: 'address range',
  examples: ['10.0.0.0/8', 'loopback'],
});

function checkAddressRange(entry: string): string {
  if (/\/0+$/.test(entry)) {
    throw new Refusal(
      'range-of-everyone',
      `"${entry}" contains every address, name a narrower range`,
    );
  }
  compileAddressSet([entry], { cloudflare: [] });
  return entry;
}

const expires = checkedText(parseTime, {
  title: 'date or time',
  examples: ['2026-12-31', '2026-12-31T18:00:00Z'],
}).describe('The entry has no effect from this time on. A date begins at 00:00 UTC.');

/** The result is in milliseconds since the epoch. */
function parseTime(text: string): number {
  const isTime = z.union([z.iso.date(), z.iso.datetime({ offset: true })]).safeParse(text).success;
  if (isTime) return Date.parse(text);
  throw new RangeError('must be a date such as 2026-12-31, or a time such as 2026-12-31T18:00:00Z');
}

/** Quotes only what is meant as an address: other text may be a key that the author wants to block. */
function noAddress(text: string): string {
  const forms = 'an address, a CIDR range such as 10.0.0.0/8, loopback or private';
  if (/^[\d.:/*-]*[.:][\da-f.:/*-]*$/i.test(text)) return `"${text}" is not ${forms}`;
  if (/^[a-z\d-]+(\.[a-z\d-]+)+$/i.test(text)) {
    return `"${text}" is not ${forms}: headgate looks up no names`;
  }
  return `is not ${forms}; for a listed key, write "{ key: ID }"`;
}

const NAT64_RANGE = /^64:ff9b::[^/]*\//i;
const address = checkedText(checkAddress, {
  title: 'address range',
  examples: ['203.0.113.0/24', '198.51.100.7'],
});

function checkAddress(text: string): string {
  if (NAT64_RANGE.test(text))
    throw new RangeError('is a NAT64 range, write the IPv4 range instead');
  const result = addressRange.safeParse(text);
  if (result.success) return result.data;
  if (!/\/0+$/.test(text)) throw new RangeError(noAddress(text));
  throw new Refusal('range-of-everyone', 'contains every address, name a narrower range');
}

const entry = z
  .strictObject({
    address: address
      .optional()
      .describe('The clients of the entry: a CIDR range, an address, loopback or private.'),
    key: z
      .string()
      .min(1)
      .max(64)
      .optional()
      .describe('In place of an address: the id of a listed API key.'),
    expires: expires.optional(),
    comment: z
      .string()
      .max(1_000)
      .optional()
      .describe('A note. headgate explain shows it with the entry.'),
  })
  .refine(
    ({ address, key }) => (address === undefined) !== (key === undefined),
    'must have either an address or a key',
  );

/** `10.0.0.0/8` is short for `{ address: 10.0.0.0/8 }`. */
export const accessSchema = z
  .array(
    z.union(
      [address.transform((range) => ({ address: range })), entry],
      'must be an address, or a map with an address or a key',
    ),
  )
  .transform((entries) =>
    entries.map((each) => ({
      ...{ key: undefined, address: undefined, expires: undefined, comment: undefined },
      ...each,
    })),
  );
