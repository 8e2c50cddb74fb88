import { z } from 'zod';
import type { Operation } from '../operation.ts';
import { by, policyFields, policyMode, policyName, terms } from './fields.ts';
import { overrideReportSchema } from './overrides.ts';

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
