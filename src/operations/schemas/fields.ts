/** Fields that several operations share. */
import { z } from 'zod';
import { POLICY_MODES } from '../../core/policy.ts';

/** Control characters would reach the terminal of an operator who lists overrides. */
const PRINTABLE = /^\P{Cc}*$/u;

export const count = z.int().min(0);
/** ISO 8601 in UTC. */
export const time = z.iso.datetime();
export const policyMode = z.enum(POLICY_MODES);
export const policyName = z.string().min(1).max(256);

export const client = z
  .string()
  .min(1)
  .max(8_192)
  .meta({
    description:
      'The client: an address, an IPv6 network that the policy file counts, a client as the log names it (`i.`, `k.`, `c.`, `u.`), `id:` and the id of a listed key, `key:` and a key, `user:` and a user, or a decision id.',
    examples: ['203.0.113.9', 'id:acme', '0f6e2d9c41ab-3'],
  });

/** The limits of a policy. */
export const limitTexts = {
  limits: z.array(z.string()).describe('In words.'),
  plans: z
    .array(z.object({ plan: z.string(), limits: z.array(z.string()) }))
    .describe('The limits of clients with a plan, in place of `limits`. Absent if there are none.')
    .optional(),
};

/** What operators see of a listed key besides its partition. */
export const listedClient = {
  client_id: z.string().describe('The id of a listed key, as in the policy file.').optional(),
  plan: z.string().describe('The plan of a listed key.').optional(),
};

export const by = z
  .string()
  .min(1)
  .max(64)
  .regex(PRINTABLE)
  .describe('Name of the operator, for the audit log.');

export const reason = z
  .string()
  .min(1)
  .max(200)
  .regex(PRINTABLE)
  .describe('Reason, for the audit log and the list of overrides.');

/** What every override says of itself. */
export const terms = {
  for: z.string().meta({
    description: 'Duration of the override: a number and s, min, h or d; at most 31d.',
    examples: ['30min'],
  }),
  reason,
  by: by.optional(),
};
