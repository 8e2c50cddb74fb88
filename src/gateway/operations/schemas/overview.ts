/** What all gateways did in the last 15 minutes, and how they are: for the page of the ops server and `headgate top`. */
import { z } from 'zod';
import type { Operation } from '../operation.ts';
import { count, listedClient, optional, policyFields, time } from './fields.ts';

const perStep = z.array(count);

const series = {
  requests: perStep.describe('Requests in each step, oldest first.'),
  denials: perStep,
  would_deny: perStep.describe('Requests that would have been denied, in shadow mode.'),
};

const perSecond = z.number().min(0);
const rates = z
  .object({ requests: perSecond, denials: perSecond, would_deny: perSecond })
  .describe('Per second: the mean of the last `rate_ms`.');

const STATUS_LEVELS = ['well', 'warning', 'wrong'] as const;
const statusLine = z.object({ level: z.enum(STATUS_LEVELS), text: z.string() });
export type StatusLine = z.output<typeof statusLine>;

export const STORE_STATES = ['enforced', 'local', 'open', 'closed'] as const;
export type StoreState = (typeof STORE_STATES)[number];

const storeState = z
  .enum(STORE_STATES)
  .describe(
    'How requests are decided: enforced by the store or, while it fails, by `on_store_failure`: local, open (allow) or closed (deny).',
  );

export const actionSchema = z.object({
  at: time,
  action: z.string(),
  subject: optional(z.string(), 'Absent if it concerns the whole gateway.'),
  change: z.string(),
  by: z.string(),
  reason: z.string().optional(),
  is_confirmed: z.boolean().describe('false: the store did not confirm the change.'),
});
export type ActionReport = z.output<typeof actionSchema>;

export const overviewSchema = z.object({
  time: time.describe('When this was gathered.'),
  gateway: z
    .object({ host: z.string(), version: z.string() })
    .describe('The gateway that gathered this.'),
  status: z
    .array(statusLine)
    .describe('How the gateways are, in words: what is wrong, worst first, or that all is well.'),
  gateways: z
    .object({ asked: count, answered: count, workers: count })
    .describe(
      'Every process that answers proxies is a gateway, so each worker counts. `workers`: how many of those that answered are workers.',
    ),
  step_ms: count.describe('Length of a step of the series below.'),
  until: time.describe('End of the last step.'),
  rate_ms: count.describe('Length of the time before `until` of which all rates are the mean.'),
  rates: rates.describe('Rates of all requests, including those without a policy.'),
  policies: z.array(z.object({ ...policyFields, rates, ...series })),
  policies_left_out: optional(
    count,
    'With more than 200 policies: how many with fewer requests are left out.',
  ),
  without_policy: z
    .object({ rates, ...series })
    .describe(
      'Requests that were decided before headgate looked for a policy: those of blocked and exempt clients, and malformed ones.',
    ),
  store: z.object({
    kind: z.enum(['memory', 'redis']),
    states: z.array(
      z.object({
        state: storeState,
        gateways: count,
        since: optional(time, 'When the state began at the first of these gateways.'),
        reason: z.string().optional(),
        policies: z
          .array(z.string())
          .describe('The enforced policies that are decided in this way. Empty for `enforced`.'),
        lapses: optional(
          z.object({ failed: count, checks: count, within_ms: count }),
          'The store answers, but failed `failed` of `checks` checks of these gateways in the last `within_ms`. Absent if the store does not answer.',
        ),
      }),
    ),
    version: optional(z.string(), 'The version of Redis; absent if Redis does not answer.'),
  }),
  policy_file: z.object({
    digests: z.array(z.object({ digest: z.string(), gateways: count, since: time })),
    refused: optional(
      z.object({ at: time, mistakes: z.array(z.string()) }),
      'The last file that was refused, while the one before stays in force.',
    ),
  }),
  unsettled_policies: optional(
    z.array(z.string()),
    'Policies that reserve units while no gateway gets the outcome of a request, so every reservation stays counted. Absent if there are none.',
  ),
  untrusted_proxy: optional(
    z.object({ gateways: count, last: time }),
    'A proxy outside `identity.trusted_proxies` sent checks to these gateways, the last in these 15 minutes, so its clients share limits. Absent if there was none since the policy file was loaded.',
  ),
  refused_caller: optional(
    z.object({ gateways: count, last: time }),
    'These gateways answered 403 to calls without the right secret (`HEADGATE_PROXY_SECRET`), the last in these 15 minutes. If a proxy sent them, its clients got 403.',
  ),
  actions: z
    .array(actionSchema.extend(listedClient))
    .describe('The last operator actions of all gateways, newest first.'),
});

export const OVERVIEW = {
  method: 'GET',
  path: '/v1/overview',
  summary: 'Show what all gateways did in the last 15 minutes, and how they are',
  input: z.strictObject({}),
  output: overviewSchema,
} satisfies Operation;
