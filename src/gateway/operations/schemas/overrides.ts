import { z } from 'zod';
import type { Operation } from '../operation.ts';
import { count, listedClient, optional, policyMode, time } from './fields.ts';

const terms = { since: time, until: time, reason: z.string(), by: z.string() };

export const clientOverrideSchema = z.object({
  about: z.literal('client'),
  client: z.string(),
  ...listedClient,
  access: z.enum(['exempt', 'blocked']),
  ...terms,
});
export type ClientOverride = z.output<typeof clientOverrideSchema>;

export const overrideReportSchema = z.discriminatedUnion('about', [
  clientOverrideSchema,
  z.object({ about: z.literal('policy'), policy: z.string(), mode: policyMode, ...terms }),
  z.object({ about: z.literal('log_level'), level: z.string(), ...terms }),
  z.object({ about: z.literal('log_allows'), allows_one_in: count, ...terms }),
]);
export type OverrideReport = z.output<typeof overrideReportSchema>;

export const endedReportSchema = z.object({
  override: clientOverrideSchema,
  ended_at: time,
  ended_by: optional(z.string(), 'The operator who ended it; absent if it expired.'),
});
export type EndedReport = z.output<typeof endedReportSchema>;

export const LIST_OVERRIDES = {
  method: 'GET',
  path: '/v1/overrides',
  summary: 'List the overrides in force, in the order in which they end',
  input: z.strictObject({}),
  output: z.object({ overrides: z.array(overrideReportSchema) }),
} satisfies Operation;
