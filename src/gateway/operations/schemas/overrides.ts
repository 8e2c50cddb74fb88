import { z } from 'zod';
import { LOG_LEVELS } from '../../config/settings/settings.ts';
import type { Operation } from '../operation.ts';
import {
  by,
  count,
  listedClient,
  optional,
  policyFields,
  policyMode,
  policyName,
  terms,
  time,
} from './fields.ts';

const reported = { since: time, until: time, reason: z.string(), by: z.string() };

export const clientOverrideSchema = z.object({
  about: z.literal('client'),
  client: z.string(),
  ...listedClient,
  access: z.enum(['exempt', 'blocked']),
  ...reported,
});
export type ClientOverride = z.output<typeof clientOverrideSchema>;

export const overrideReportSchema = z.discriminatedUnion('about', [
  clientOverrideSchema,
  z.object({ about: z.literal('policy'), policy: z.string(), mode: policyMode, ...reported }),
  z.object({ about: z.literal('log_level'), level: z.string(), ...reported }),
  z.object({ about: z.literal('log_allows'), allows_one_in: count, ...reported }),
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

export const SET_LOG = {
  method: 'PUT',
  path: '/v1/log',
  summary: 'Change the log level, or log a sample of the allowed requests, temporarily',
  input: z
    .strictObject({
      level: optional(z.enum(LOG_LEVELS), 'Minimum log level.'),
      allows_one_in: z
        .int()
        .min(1)
        .max(1_000_000_000)
        .describe('Log one in this many allowed requests.')
        .optional(),
      ...terms,
    })
    .meta({ anyOf: [{ required: ['level'] }, { required: ['allows_one_in'] }] }),
  output: z.object({ overrides: z.array(overrideReportSchema) }),
} satisfies Operation;

export const RESTORE_LOG = {
  method: 'DELETE',
  path: '/v1/log',
  summary: 'Return to the log settings from startup',
  input: z.strictObject({ by: by.optional() }),
  output: z.object({}),
} satisfies Operation;

const policy = policyName.describe('Name of the policy.');

export const LIST_POLICIES = {
  method: 'GET',
  path: '/v1/policies',
  summary: 'List the policies with their limits and current modes',
  input: z.strictObject({}),
  output: z.object({ policies: z.array(z.object(policyFields)) }),
} satisfies Operation;

export const SET_MODE = {
  method: 'PUT',
  path: '/v1/policies/:policy/mode',
  summary: 'Change the mode of a policy temporarily',
  input: z.strictObject({ policy, mode: policyMode.describe('The new mode.'), ...terms }),
  output: overrideReportSchema,
} satisfies Operation;

export const RESTORE_MODE = {
  method: 'DELETE',
  path: '/v1/policies/:policy/mode',
  summary: 'Return a policy to the mode in the policy file',
  input: z.strictObject({ policy, by: by.optional() }),
  output: z.object({ policy: z.string() }),
} satisfies Operation;
