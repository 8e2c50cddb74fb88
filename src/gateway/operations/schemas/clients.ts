import { z } from 'zod';
import type { Operation } from '../operation.ts';
import { by, client, listedClient, optional, policyName, reason, terms } from './fields.ts';
import { clientOverrideSchema } from './overrides.ts';

const others = {
  other_overrides: optional(
    z.array(clientOverrideSchema),
    'Overrides that also apply to this client and stay in force, such as one of its address. Absent if there is none.',
  ),
};
const namedClient = z.object({ client: z.string(), ...listedClient });

export const RESET = {
  method: 'POST',
  path: '/v1/clients/reset',
  summary: "Reset a client's counters",
  input: z.strictObject({
    client,
    policy: optional(policyName, 'Reset only the counters of this policy.'),
    reason: reason.optional(),
    by: by.optional(),
  }),
  output: namedClient.extend({
    policies: z.array(z.string()),
    address: optional(
      z.string(),
      'If a decision id named a key or a user: the address that the request came from. The counters of that address and of its IPv6 networks were reset too.',
    ),
  }),
} satisfies Operation;

const setAccess = {
  method: 'POST',
  input: z.strictObject({ client, ...terms }),
  output: clientOverrideSchema.extend({
    replaced: optional(
      z.array(clientOverrideSchema),
      'The earlier overrides of the client, which this one replaces.',
    ),
    ...others,
  }),
} as const;

export const BLOCK = {
  ...setAccess,
  path: '/v1/clients/block',
  summary: 'Block a client temporarily',
} satisfies Operation;

export const EXEMPT = {
  ...setAccess,
  path: '/v1/clients/exempt',
  summary: 'Exempt a client from all limits temporarily',
} satisfies Operation;

const removeAccess = {
  method: 'POST',
  input: z.strictObject({ client, reason: reason.optional(), by: by.optional() }),
  output: namedClient.extend(others),
} as const;

export const UNBLOCK = {
  ...removeAccess,
  path: '/v1/clients/unblock',
  summary: 'Unblock a client that an operator blocked',
} satisfies Operation;

export const UNEXEMPT = {
  ...removeAccess,
  path: '/v1/clients/unexempt',
  summary: 'End the exemption of a client',
} satisfies Operation;
