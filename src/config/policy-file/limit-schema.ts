/** Schema of limits and plans. */
import { z } from 'zod';
import { ALGORITHMS, MAX_LIMIT } from '../../core/store.ts';
import { holds } from '../refinement.ts';
import type { Path } from '../yaml-path.ts';
import { shortName } from './key-list.ts';
import { PARTITION_PATTERN, parsePartition } from './partition-name.ts';
import { parseRate, RATE_PATTERN } from './rate.ts';

const rateText = z
  .string()
  .meta({
    title: 'rate',
    pattern: RATE_PATTERN.source,
    examples: ['5/5min', '100/1min', '1000/1h'],
  })
  .transform(holds(parseRate))
  .describe(
    'Requests per window, in any window of this length. Units: s, min, h, d. At most 1000000 in at most 31d.',
  );

const per = z
  .string()
  .meta({
    title: 'share',
    pattern: PARTITION_PATTERN.source,
    examples: ['client', 'ip', 'header:x-tenant'],
  })
  .transform(holds(parsePartition))
  .describe(
    'What has its own counter: each client, ip, api_key, user, header:<name>, or global for one counter in all. ' +
      'A request without that key, user or header counts for its address.',
  );

export const units = z.int().min(1).max(MAX_LIMIT);

const limitMap = z.strictObject({
  rate: rateText,
  per: per.default('client'),
  algorithm: z
    .enum(ALGORITHMS)
    .default('sliding-window-log')
    .describe(
      'The log is exact. The counter is approximate and takes constant memory. The bucket admits bursts.',
    ),
  burst: units
    .optional()
    .describe(
      'For a token bucket: the maximum number of units at one moment. Default: the number of the rate.',
    ),
  count_rejected: z.boolean().default(false).describe('Whether denied requests count too.'),
});

const PLAIN_LIMIT = {
  per: 'client',
  algorithm: 'sliding-window-log',
  burst: undefined,
  count_rejected: false,
} as const;

const limit = z
  .union(
    [rateText.transform((rate) => ({ ...PLAIN_LIMIT, rate })), limitMap],
    'must be a rate such as 5/5min, or a map such as { rate: 50/5min, per: ip }',
  )
  .describe('A rate per client, or a map with a rate and how it is counted.');

export const limits = z
  .array(limit)
  .min(1)
  .max(16)
  .describe('A request is counted against all of these or none. A rate alone is per client.');

export const plans = z
  .record(shortName, limits)
  .default({})
  .describe('Limits that replace these for clients whose listed key has the plan.');

export type LimitEntry = z.output<typeof limit>;

interface LimitedEntry {
  readonly limits: readonly LimitEntry[];
  readonly plans: Readonly<Record<string, readonly LimitEntry[]>>;
}

/** The limits of a policy and those of each plan, with their paths. `at` is the path of the policy. */
export function limitLists(
  { limits, plans }: LimitedEntry,
  at: Path,
): { readonly limits: readonly LimitEntry[]; readonly path: Path }[] {
  return [
    { limits, path: [...at, 'limits'] },
    ...Object.entries(plans).map(([plan, written]) => ({
      limits: written,
      path: [...at, 'plans', plan],
    })),
  ];
}

/** The limits of a policy and of all its plans. */
export function allLimits({ limits, plans }: LimitedEntry): LimitEntry[] {
  return [limits, ...Object.values(plans)].flat();
}
