/** What all gateways did in the last 15 minutes, and how they are: for the page of the ops server and `headgate top`. */
import { z } from 'zod';
import type { Operation, OutputOf } from '../operation.ts';
import { count, policyMode, time } from './fields.ts';

const perStep = z.array(count);

const storeState = z
  .enum(['enforced', 'local', 'open', 'closed'])
  .describe(
    'How requests are decided: enforced by the store or, while it fails, by `on_store_failure`: local, open (allow) or closed (deny).',
  );

export const overviewSchema = z.object({
  time: time.describe('When this was gathered.'),
  gateways: z.object({ asked: count, answered: count, workers: count }),
  step_ms: count.describe('Length of a step of the series below.'),
  until: time.describe('End of the last step.'),
  policies: z.array(
    z.object({
      name: z.string(),
      mode: policyMode,
      mode_of_file: policyMode,
      limits: z.array(z.string()).describe('In words.'),
      on_store_failure: z.string(),
      requests: perStep.describe('Requests in each step, oldest first.'),
      denials: perStep,
      would_deny: perStep.describe('Requests that it would have denied, in shadow mode.'),
    }),
  ),
  store: z.object({
    kind: z.enum(['memory', 'redis']),
    states: z.array(
      z.object({
        state: storeState,
        gateways: count,
        since: time.optional(),
        reason: z.string().optional(),
      }),
    ),
    version: z.string().describe('Of Redis, if it answers.').optional(),
  }),
  policy_file: z.object({
    digests: z.array(z.object({ digest: z.string(), gateways: count, since: time })),
    refused: z
      .object({ at: time, mistakes: z.array(z.string()) })
      .describe('The last file that was refused, while the one before stays in force.')
      .optional(),
  }),
  actions: z
    .array(
      z.object({
        at: time,
        action: z.string(),
        subject: z.string(),
        change: z.string(),
        by: z.string(),
        reason: z.string().optional(),
        is_confirmed: z.boolean().describe('false: the store did not confirm it in time.'),
      }),
    )
    .describe('The last operator actions of all gateways, newest first.'),
});

export const OVERVIEW = {
  method: 'GET',
  path: '/v1/overview',
  summary: 'Show what all gateways did in the last 15 minutes, and how they are',
  input: z.strictObject({}),
  output: overviewSchema,
} satisfies Operation;

export type Overview = OutputOf<typeof OVERVIEW>;
