import { z } from 'zod';
import type { Operation } from '../operation.ts';
import { count, optional, time } from './fields.ts';

export const STATS = {
  // It is too expensive to measure at every scrape.
  method: 'GET',
  path: '/stats',
  summary: 'Show active windows, their memory and the state of Redis',
  input: z.strictObject({}),
  output: z.object({
    store: z.enum(['memory', 'redis']),
    gateways: count.describe(
      'Gateways that share the counters, as last known. Every process that answers proxies is one, so each worker counts.',
    ),
    gateways_answered: optional(count, 'How many of them answered.'),
    workers: optional(count, 'How many of those that answered are workers.'),
    unavailable: optional(
      z.string(),
      'Present while Redis does not answer: since when, and how requests are decided. Then the counts are absent, and `gateways` is the last known number.',
    ),
    active_windows: optional(count, 'Windows that hold at least one request.'),
    is_exact: optional(z.boolean(), 'false: estimated from a sample of the keys.'),
    sampled_keys: count.optional(),
    memory_bytes: optional(count, 'Estimated Redis memory of the active windows.'),
    servers: z.array(
      z.object({
        version: z.string(),
        used_memory_bytes: count,
        max_memory_bytes: count.describe('0: no limit.'),
        max_memory_policy: z.string(),
        evicted_keys: count,
        connected_clients: count,
      }),
    ),
    unseen_headers: z
      .array(z.object({ dialect: z.string(), header: z.string(), requests: count }))
      .describe(
        'Headers that the policy file needs but that none of this many requests through the proxy had. Each process reports its own requests.',
      ),
    policy_file_refused: optional(
      z.object({ at: time, mistakes: z.array(z.string()) }),
      'The last file that this process refused, while the one before stays in force.',
    ),
  }),
} satisfies Operation;
