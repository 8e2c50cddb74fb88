import { z } from 'zod';
import type { Operation } from '../operation.ts';
import { denial, gatewaysSchema } from './denials.ts';
import {
  client,
  count,
  listedClient,
  listedReportSchema,
  optional,
  policyMode,
  time,
} from './fields.ts';
import { overrideReportSchema } from './overrides.ts';

export const INSPECT = {
  // A key must not stand in a URL, which proxies log.
  method: 'POST',
  path: '/v1/clients/inspect',
  summary:
    'Show what exempts or blocks a client, its limits, what is left of them, and its denials',
  input: z.strictObject({ client }),
  output: z.object({
    client: z.string().describe('Its name in the log and in lists.'),
    ...listedClient,
    key_source: optional(
      z.enum(['file', 'redis', 'memory']),
      'What lists the key: the policy file, Redis or, without Redis, this gateway. Absent for other clients.',
    ),
    key_ends: optional(time, 'When the key ends; absent if it has no end.'),
    ended_key: optional(
      z.string(),
      'Present if all keys of the client, or the key that was asked for, have ended, so that requests count for their address: the id of the key.',
    ),
    is_plan_unseen: optional(
      z.literal(true),
      'Present if the proxy names the plan of each request (`identity.plan`), so that `limits` are those without a plan.',
    ),
    access: optional(
      z.enum(['exempt', 'blocked']),
      'What overrides and the policy file make of the client. Absent: its limits apply.',
    ),
    listed: z
      .array(listedReportSchema)
      // Gateways of older versions do not say it, nor the denials.
      .default([])
      .describe('The entries of `exempt` and `block` in the policy file that name the client.'),
    is_address_unknown: optional(
      z.literal(true),
      'Present if the lists of the policy file name addresses and only the pseudonym of this client is known, so that the two cannot be compared.',
    ),
    limits_unavailable: optional(
      z.string(),
      'Present if the store does not answer: why `limits` is empty.',
    ),
    limits: z
      .array(
        z.object({
          policy: z.string(),
          mode: policyMode.default('enforce').describe('The current mode of the policy.'),
          limit: z.string().describe('Its label.'),
          allows: z.string().describe('The limit in words.'),
          remaining: count,
          retry_after_ms: optional(
            count,
            '0 if a request is allowed now. Absent if the limit never allows one.',
          ),
          reset_after_ms: count,
          is_unsettled: optional(
            z.literal(true),
            'Present if nobody reports the outcomes of requests of this policy, so that every reservation stays counted.',
          ),
        }),
      )
      .describe(
        'At most 200 limits; those in use come first. Limits of policies that are off are left out.',
      ),
    overrides: z.array(overrideReportSchema),
    denials: z
      .array(denial)
      .default([])
      .describe(
        'At most 20 denials that gateways remember of this client, also by other names of it: one for each policy and reason, the last one first.',
      ),
    gateways: gatewaysSchema
      .default({ asked: 0, answered: 0 })
      .describe('Gateways that were queried for denials, and how many replied.'),
  }),
} satisfies Operation;
