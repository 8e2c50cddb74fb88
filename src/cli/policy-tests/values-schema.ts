/** Values that several parts of a test file have: durations, names, addresses and headers. */
import { z } from 'zod';
import { holds } from '../../gateway/config/refinement.ts';
import { REQUEST_INFO } from '../../gateway/core/counting/outcome.ts';
import { canonicalAddress } from '../../gateway/core/identity/address.ts';
import { DAY_MS } from '../../gateway/core/identity/salts.ts';

/** Unlike those of a policy file, durations may be zero, have milliseconds and combine units. */
const DURATION_PATTERN =
  /^(?=\d)(?:(\d{1,9})d)?(?:(\d{1,9})h)?(?:(\d{1,9})min)?(?:(\d{1,9})s)?(?:(\d{1,9})ms)?$/;

/** The groups of the pattern have this order. */
const UNITS = [
  ['d', DAY_MS],
  ['h', 3_600_000],
  ['min', 60_000],
  ['s', 1_000],
  ['ms', 1],
] as const;

export const MAX_DURATION_MS = 3_650 * DAY_MS;

/** Returns milliseconds. Throws a RangeError whose message gives the right form. */
export function parseDuration(text: string): number {
  const [, ...counts] = DURATION_PATTERN.exec(text) ?? [];
  if (counts.length === 0) {
    throw new RangeError(
      `"${text}" is not a duration: write numbers with d, h, min, s or ms, as in "90s" or "1h30min"`,
    );
  }
  const ms = UNITS.reduce((sum, [, unitMs], i) => sum + Number(counts[i] ?? 0) * unitMs, 0);
  if (ms > MAX_DURATION_MS) {
    throw new RangeError(`must be at most ${durationText(MAX_DURATION_MS)}`);
  }
  return ms;
}

/** `1h30min`; `0s` for none. */
export function durationText(ms: number): string {
  let left = ms;
  let text = '';
  for (const [unit, unitMs] of UNITS) {
    const count = Math.floor(left / unitMs);
    left -= count * unitMs;
    if (count > 0) text += `${count}${unit}`;
  }
  return text === '' ? '0s' : text;
}

export function optional<S extends z.ZodType>(schema: S, meaning: string): z.ZodOptional<S> {
  return schema.optional().describe(meaning);
}

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

const SAYS = 'must be a map of what the filter says, as in { payload: { sub: alice } }';

export const metadata = z
  .object({
    [REQUEST_INFO]: optional(
      z.int().min(0),
      'The estimated units, which limits with this metadata reserve.',
    ),
  })
  .catchall(z.union([z.record(z.string(), z.unknown()), z.null()], SAYS))
  .meta({ examples: [{ 'envoy.filters.http.jwt_authn': { payload: { sub: 'alice' } } }] });

export type WrittenMetadata = z.output<typeof metadata>;
