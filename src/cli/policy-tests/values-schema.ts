/** Schemas of values that several parts of a test file have. */
import { z } from 'zod';
import { holds } from '../../gateway/config/refinement.ts';
import { canonicalAddress } from '../../gateway/core/identity/address.ts';
import { DURATION_PATTERN, parseDuration } from './duration.ts';

const DURATION_FORM = 'must be a duration such as "90s" or "1h30min"';

/** Milliseconds. */
export const duration = z
  .string({ error: ({ input }) => (input === undefined ? undefined : DURATION_FORM) })
  .meta({
    title: 'duration',
    pattern: DURATION_PATTERN.source,
    examples: ['90s', '1h30min', '250ms'],
  })
  .transform(holds(parseDuration));

export const headerName = z
  .string()
  .regex(/^[A-Za-z0-9!#$%&'*+.^_`|~-]+$/, 'must be the name of a header')
  .transform((name) => name.toLowerCase());

export const address = z
  .string()
  .meta({ title: 'address', examples: ['203.0.113.9', '2001:db8::1'] })
  .transform(
    holds((text: string) => {
      const found = canonicalAddress(text);
      if (found !== undefined) return found;
      throw new RangeError(`"${text}" is not an address`);
    }),
  );

/** The name of a client or a test. */
export const name = z.string().min(1).max(200);

const headerValue = z.union(
  [z.string().transform((value) => [value]), z.array(z.string()).min(1)],
  'must be text (a number needs quotes) or a list of texts',
);

export const headers = z
  .record(headerName, headerValue)
  .describe('Headers by name. A list: the header occurs several times.');

export const headerChanges = z
  .record(
    headerName,
    z.union([headerValue, z.null().transform(() => [])], 'must be text, a list of texts, or null'),
  )
  .describe("Headers in addition to the client's. null leaves out one of the client.");
