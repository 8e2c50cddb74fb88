import { z } from 'zod';
import { LOG_LEVELS } from '../../config/settings/settings.ts';
import type { Operation } from '../operation.ts';
import { by, optional, terms } from './fields.ts';
import { overrideReportSchema } from './overrides.ts';

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
