import { z } from 'zod';
import {
  currentQuotaSchema,
  denialReportSchema,
  laterSchema,
} from '../../denials/denial-report.ts';
import type { Operation } from '../operation.ts';
import { count, listedClient, listedReportSchema, optional, policyMode } from './fields.ts';
import { endedReportSchema, overrideReportSchema } from './overrides.ts';

/** Gateways send each other more about a denial than they show operators. */
export const denial = denialReportSchema
  .omit({ names: true, networks: true, is_listed: true, file_now: true })
  .extend({
    ...listedClient,
    cause: optional(z.string(), 'In words: what blocked the client.'),
    listed: optional(
      listedReportSchema,
      'The entry of `block` that blocked the client, if the file still has it.',
    ),
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
  output: z.object({ clients: z.array(denial), gateways: gatewaysSchema }),
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
    now: optional(
      currentQuotaSchema,
      'The limit and its quota now; absent if the limit no longer exists or the store is unavailable.',
    ),
    is_reset: optional(z.literal(true), 'An operator reset its counters since. Absent otherwise.'),
    later: optional(
      laterSchema,
      'Later denials of the same client by the same policy; their cause may differ.',
    ),
    policy_mode: optional(
      policyMode,
      'The current mode of the policy; absent if the policy no longer exists.',
    ),
    override: optional(overrideReportSchema, 'The override that decides for this client, if any.'),
    overrides: optional(
      z.array(overrideReportSchema),
      'All overrides of this client and of its address.',
    ),
    ended_override: optional(
      endedReportSchema,
      'Present if no override is in force and one ended within a day: the last one.',
    ),
  }),
} satisfies Operation;
