/** Denials: clients that are denied, and the details of one denial. */
import { z } from 'zod';
import {
  currentQuotaSchema,
  denialReportSchema,
  laterSchema,
} from '../../denials/denial-report.ts';
import type { Operation } from '../operation.ts';
import { count, listedClient, policyMode } from './fields.ts';
import { listedReportSchema } from './listed.ts';
import { endedReportSchema, overrideReportSchema } from './overrides.ts';

/** Gateways tell each other more about a denial than they tell operators. */
export const denial = denialReportSchema
  .omit({ names: true, networks: true, is_listed: true, file_now: true })
  .extend({
    ...listedClient,
    cause: z.string().describe('In words: what blocked the client.').optional(),
    listed: listedReportSchema
      .describe('The entry of `block` that blocked the client, if the file still has it.')
      .optional(),
  });

export const gatewaysSchema = z.object({ asked: count, answered: count });

export const TOP = {
  method: 'GET',
  path: '/v1/clients/top',
  summary: 'List clients that any gateway denied in the last five minutes, most denials first',
  input: z.strictObject({
    limit: z.int().min(1).max(100).default(20).describe('Maximum number of clients to list.'),
    shadow: z
      .boolean()
      .default(false)
      .describe('List clients that policies in shadow mode would have denied.'),
  }),
  output: z.object({
    clients: z.array(denial),
    gateways: gatewaysSchema,
  }),
} satisfies Operation;

export const FIND_DENIED = {
  // An address or a key must not stand in a URL, which proxies log.
  method: 'POST',
  path: '/v1/clients/denied',
  summary: 'Search all clients that any gateway denied in the last five minutes',
  input: z.strictObject({
    filter: z
      .string()
      .max(256)
      .default('')
      .describe(
        'Lists clients that have this in their name, key id, plan, policy, reason or decision id, in upper or lower case; or the client that this names, such as an address.',
      ),
    ...TOP.input.shape,
  }),
  output: TOP.output,
} satisfies Operation;

export const DECISION = {
  method: 'GET',
  path: '/v1/decisions/:id',
  summary: 'Show a recent denial, and those right before and after it with the same cause',
  input: z.strictObject({
    id: z
      .string()
      .min(1)
      .max(64)
      .describe(
        'The decision id. The client received it in `X-RateLimit-Decision-Id`; the log has it too.',
      ),
  }),
  output: z.object({
    asked_for: z.string(),
    ...denial.shape,
    now: currentQuotaSchema
      .describe(
        'The limit and its quota now; absent if the limit no longer exists or the store is unavailable.',
      )
      .optional(),
    is_reset: z
      .literal(true)
      .describe('An operator reset its counters since. Absent otherwise.')
      .optional(),
    later: laterSchema
      .describe('Later denials of the same client by the same policy; their cause may differ.')
      .optional(),
    policy_mode: policyMode
      .describe('The current mode of the policy; absent if the policy no longer exists.')
      .optional(),
    override: overrideReportSchema
      .describe('The override that decides for this client, if any.')
      .optional(),
    overrides: z
      .array(overrideReportSchema)
      .describe('All overrides of this client and of its address.')
      .optional(),
    ended_override: endedReportSchema
      .describe('Present if no override is in force and one ended within a day: the last one.')
      .optional(),
  }),
} satisfies Operation;
