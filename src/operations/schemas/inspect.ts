/** One client: its limits, what is left of them, and the overrides that apply. */
import { z } from 'zod';
import type { Operation, OutputOf } from '../operation.ts';
import { client, count } from './fields.ts';
import { overrideReportSchema } from './overrides.ts';

export const INSPECT = {
  // A key must not stand in a URL, which proxies log.
  method: 'POST',
  path: '/v1/clients/inspect',
  summary: "Show a client's limits, what is left of them, and the overrides that apply",
  input: z.strictObject({ client }),
  output: z.object({
    client: z.string().describe('Its name in the log and in lists.'),
    client_id: z.string().describe('The id of a listed key.').optional(),
    plan: z.string().describe('The plan of a listed key.').optional(),
    limits: z
      .array(
        z.object({
          policy: z.string(),
          limit: z.string().describe('Its label.'),
          allows: z.string().describe('The limit in words.'),
          remaining: count,
          retry_after_ms: count
            .describe('0: there is room now. Absent: the limit never allows a request.')
            .optional(),
          reset_after_ms: count,
        }),
      )
      .describe('At most 200, those that are in use first. Policies that are off have none.'),
    overrides: z.array(overrideReportSchema),
  }),
} satisfies Operation;

export type Inspection = OutputOf<typeof INSPECT>;
