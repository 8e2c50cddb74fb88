import { z } from 'zod';
import { MAX_OF_ANY_UNIT } from '../../core/counting/largest-limit.ts';
import {
  ALGORITHMS,
  type Algorithm,
  MAX_FIXED_LIMIT,
  MAX_LIMIT,
} from '../../core/counting/store.ts';
import type { HeaderPartition, NamedPartition, Partition } from '../../core/policy.ts';
import { hint } from '../closest-word.ts';
import { parseRate, RATE_PATTERN, tooLarge } from '../rate.ts';
import { checkedText } from '../refinement.ts';
import { afterwardsKeys } from './afterwards-schema.ts';
import { shortName } from './key-list.ts';

const NAMES: readonly NamedPartition[] = ['client', 'ip', 'api_key', 'user', 'global'];

/** These hold addresses. Addresses count as `ip`: by pseudonym, and only if a trusted proxy reports them. */
const ADDRESS_HEADER =
  /^(x-forwarded-for|forwarded|x-real-ip|true-client-ip|cf-connecting-ip|x-headgate-.*)$/;

const PARTITION_PATTERN = /^(client|ip|api_key|user|global|header:[A-Za-z0-9-]+)$/;

/** Throws a RangeError whose message says what is wrong and gives the right form. */
export function parsePartition(text: string): Partition {
  if (ADDRESS_HEADER.test(text.slice('header:'.length).toLowerCase())) {
    throw new RangeError(`"${text}" holds an address, write "per: ip"`);
  }
  if (PARTITION_PATTERN.test(text)) return text.toLowerCase() as NamedPartition | HeaderPartition;
  if (text.startsWith('header:')) {
    throw new RangeError(
      `"${text}" must name a header of letters, digits and "-", as in "header:x-tenant"`,
    );
  }
  throw new RangeError(
    `must be ${NAMES.join(', ')} or header:<name>, not "${text}"${hint(text.toLowerCase(), NAMES)}`,
  );
}

/** Abbreviations such as `IST` are ambiguous, so a name has an area. Intl knows some that the IANA database does not. */
const ZONE_PATTERN = /^(?:UTC|[A-Z][A-Za-z]+(?:\/[A-Za-z0-9_+-]+)+)$/;

/** Returns the text. Throws a RangeError whose message names the zone that the author probably meant. */
export function checkZone(text: string): string {
  if (ZONE_PATTERN.test(text) && intlNameOf(text) !== undefined) return text;
  throw new RangeError(`"${text}" is not a time zone${hintFor(text)}`);
}

function intlNameOf(text: string): string | undefined {
  try {
    return new Intl.DateTimeFormat('en-US', { timeZone: text }).resolvedOptions().timeZone;
  } catch {
    return undefined;
  }
}

function hintFor(text: string): string {
  const known = ['UTC', ...Intl.supportedValuesOf('timeZone')];
  const place = text.trim().replaceAll(' ', '_').toLowerCase();
  const found =
    known.find((zone) => zone.toLowerCase() === place) ??
    known.find((zone) => zone.toLowerCase().endsWith(`/${place}`)) ??
    intlNameOf(text);
  if (found !== undefined && ZONE_PATTERN.test(found)) return `, did you mean "${found}"?`;
  return hint(text, known) || ', write UTC or an area and a place, as in "Europe/Zurich"';
}

function rateUpTo(most: number) {
  return checkedText((text) => parseRate(text, most), {
    title: 'rate',
    pattern: RATE_PATTERN.source,
    examples: ['5/5min', '100/1min', '1000/1h', '10000/month'],
  }).describe(
    'Requests per window, in any window of this length. Units: s, min, h, d. At most 1000000 in at most 31d. ' +
      'Or requests per day, week, month or year of the calendar, at most 4294967295. ' +
      'With a unit, as many as the algorithm counts exactly.',
  );
}

const rateText = rateUpTo(MAX_FIXED_LIMIT);

const per = checkedText(parsePartition, {
  title: 'share',
  pattern: PARTITION_PATTERN.source,
  examples: ['client', 'ip', 'header:x-tenant'],
}).describe(
  'What has its own counter: each client, ip, api_key, user, header:<name>, or global for one counter in all. ' +
    'A request without that key, user or header counts for its address.',
);

export const units = z.int().min(1).max(MAX_LIMIT);
const bucketUnits = z.int().min(1).max(MAX_OF_ANY_UNIT);

const zone = checkedText(checkZone, {
  title: 'time zone',
  pattern: ZONE_PATTERN.source,
  examples: ['Europe/Zurich', 'America/New_York'],
})
  .optional()
  .describe('For a day, week, month or year: the time zone of its calendar. Default: UTC.');

const limitKeys = z.strictObject({
  rate: rateUpTo(MAX_OF_ANY_UNIT),
  per: per.default('client'),
  zone,
  algorithm: z
    .enum(ALGORITHMS)
    .optional()
    .describe(
      'The log is exact. The counter is approximate and takes constant memory. The bucket admits bursts. ' +
        'The fixed window starts at set times and takes constant memory. ' +
        'Default: sliding-window-log; for a day, week, month or year fixed-window.',
    ),
  burst: bucketUnits
    .optional()
    .describe(
      'For a token bucket: the maximum number of units at one moment. Default: the number of the rate.',
    ),
  count_rejected: z.boolean().default(false).describe('Whether denied requests count too.'),
  ...afterwardsKeys,
});

/** How far limits with a unit go depends on their window, see cross-check-afterwards.ts. */
const boundedKeys = limitKeys.superRefine(({ unit, rate, burst = 0 }, { addIssue }) => {
  if (unit !== undefined) return;
  if (rate.limit > MAX_FIXED_LIMIT) {
    addIssue({ code: 'custom', path: ['rate'], message: tooLarge(rate.limit) });
  }
  if (burst > MAX_LIMIT) {
    addIssue({ code: 'custom', path: ['burst'], message: `must be at most ${MAX_LIMIT}` });
  }
});

/** Only fixed windows can be those of a calendar. */
function completed(limit: z.output<typeof limitKeys>) {
  const usual: Algorithm =
    limit.rate.calendar === undefined ? 'sliding-window-log' : 'fixed-window';
  return { ...limit, algorithm: limit.algorithm ?? usual };
}

const DEFAULTS = limitKeys.omit({ rate: true }).parse({});

const limit = z
  .union(
    [
      rateText.transform((rate) => completed({ ...DEFAULTS, rate })),
      boundedKeys.transform(completed),
    ],
    'must be a rate such as 5/5min, or a map such as { rate: 50/5min, per: ip }',
  )
  .describe('A rate per client, or a map with a rate and how it is counted.');

const LIMITS_MISSING = 'is missing, write how many requests are allowed, as in "limits: [5/5min]"';
const LIMITS_EMPTY = 'must be a list, not empty, as in [5/5min]';

function withoutWindow(count: string): string {
  return `must be a list of limits, each with its window, not ${count}: write "limits: [${count}/1min]"`;
}

export const limits = z
  .array(limit, {
    error: ({ input }) => {
      if (input === undefined) return LIMITS_MISSING;
      if (input === null) return LIMITS_EMPTY;
      return /^[1-9]\d*$/.test(String(input)) ? withoutWindow(String(input)) : undefined;
    },
  })
  .min(1)
  .max(16)
  .describe('A request is counted against all of these or none. A rate alone is per client.');

export const plans = z
  .record(shortName, limits)
  .default({})
  .describe('Limits that replace these for clients whose listed key has the plan.');
