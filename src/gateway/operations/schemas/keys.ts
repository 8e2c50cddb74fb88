import { z } from 'zod';
import { keyEntry, shortName } from '../../config/policy-file/key-list.ts';
import type { Operation } from '../operation.ts';
import { by, count, optional, reason, time, withoutControls } from './fields.ts';

const id = keyEntry.shape.id
  .regex(...withoutControls)
  // A lone surrogate would become another character in Redis.
  .refine((text) => text.isWellFormed(), 'must be well-formed Unicode')
  .describe('The id of the client. Keys with one id share a quota.');
const plan = shortName.describe('The plan whose limits the client gets.');
const comment = z
  .string()
  .max(200)
  .regex(...withoutControls)
  .describe('A note for operators.');
const expires = z
  .string()
  .min(1)
  .max(64)
  .meta({
    description:
      'When the key ends, from then on it is unlisted: a duration from now (a number and s, min, h or d), a date, a time, or `never`.',
    examples: ['90d', '2027-01-31', '2027-01-31T18:00:00Z', 'never'],
  });
const beginning = z
  .string()
  .regex(/^[0-9a-f]{8,64}$/, 'must be the first 8 to 64 digits of 0-9 a-f of a SHA-256')
  .describe('Only this key of the id: the first 8 to 64 digits of its SHA-256.');
const signed = { reason: reason.optional(), by: by.optional() };

const keyReportSchema = z.object({
  id: z.string(),
  sha256: z.string().describe('The SHA-256 of the key, in hex.'),
  plan: z.string().optional(),
  comment: z.string().optional(),
  added: time,
  ends: optional(time, 'Absent if the key has no end.'),
  state: z
    .enum(['valid', 'blocked', 'ended'])
    .describe(
      '`blocked`: every request with it is refused. `ended`: it counts as an unlisted key, that is for its address.',
    ),
});
export type KeyReport = z.output<typeof keyReportSchema>;

const keys = z.array(keyReportSchema);
const warnings = z.array(z.string()).describe('What operators should know about it, in words.');
const made = {
  key: z.string().describe('The key. No other answer has it, and no log.'),
  added: keyReportSchema,
  warnings,
};

export const ADD_KEY = {
  method: 'POST',
  path: '/v1/keys',
  summary: 'Make an API key that the store keeps',
  input: z.strictObject({
    ...{ id, plan: plan.optional(), expires: expires.optional(), comment: comment.optional() },
    another: z
      .boolean()
      .default(false)
      .describe(
        'Adds a key to an id that has one. Without `plan`, it gets the plan of the newest one.',
      ),
    ...signed,
  }),
  output: z.object(made),
} satisfies Operation;

export const LIST_KEYS = {
  method: 'GET',
  path: '/v1/keys',
  summary: 'List the API keys that the store keeps, in the order of their ids',
  input: z.strictObject({
    id: optional(id, 'Only the keys of this id, all of them.'),
    after: optional(z.string().min(1).max(512), 'The `next` of the page before.'),
    count: z.int().min(1).max(1_000).default(100).describe('Maximum number of keys to list.'),
  }),
  output: z.object({
    ...{ keys, warnings },
    next: optional(z.string(), 'Where the next page begins; absent after the last one.'),
  }),
} satisfies Operation;

export const CHANGE_KEYS = {
  method: 'POST',
  path: '/v1/keys/change',
  summary: 'Change the plan, the end or the comment of the keys of an id, or block them',
  input: z
    .strictObject({
      id,
      sha256: beginning.optional(),
      plan: z
        .string()
        .regex(/^(?:[a-z0-9][a-z0-9_-]{0,63})?$/, 'must be the name of a plan, or empty')
        .nullable()
        .describe('The new plan; empty or null for none. Counters stay.')
        .optional(),
      comment: optional(comment.nullable(), 'The new note; empty or null for none.'),
      expires: expires.optional(),
      blocked: optional(z.boolean(), 'Whether every request with the key is refused.'),
      ...signed,
    })
    .meta({
      anyOf: ['plan', 'comment', 'expires', 'blocked'].map((name) => ({ required: [name] })),
    }),
  output: z.object({ keys, warnings }),
} satisfies Operation;

export const ROTATE_KEY = {
  method: 'POST',
  path: '/v1/keys/rotate',
  summary: 'Make a new key for an id, and end the others after a while',
  input: z.strictObject({
    id,
    overlap: z
      .string()
      .default('24h')
      .meta({
        description:
          'How long the other keys remain valid: a number and s, min, h or d; `0` removes them at once. Those that end earlier do so.',
        examples: ['24h', '0'],
      }),
    expires: optional(expires, 'When the new key ends. Default: when the newest one would.'),
    ...signed,
  }),
  output: z.object({
    ...made,
    others: keys.describe('The other keys of this id, which end after the overlap.'),
    removed: count.describe('How many other keys were removed because they have ended.'),
  }),
} satisfies Operation;

export const REVOKE_KEYS = {
  method: 'POST',
  path: '/v1/keys/revoke',
  summary: 'Remove the keys of an id, or one of them: they count as unlisted from then on',
  input: z.strictObject({ id, sha256: beginning.optional(), ...signed }),
  output: z.object({ revoked: keys, left: count.describe('Keys that the id still has.') }),
} satisfies Operation;

/** One key of an import, and a line of the file that `headgate keys import` reads. */
export const importedKeySchema = z.strictObject({
  id,
  sha256: keyEntry.shape.sha256.describe('The SHA-256 of the key, 64 digits.'),
  plan: plan.nullable().optional(),
  comment: comment.nullable().optional(),
  expires: optional(
    z.string().max(64).nullable(),
    'A date or a time from which on the key is unlisted.',
  ),
});
export type ImportedKey = z.output<typeof importedKeySchema>;

export const MOST_IMPORTED = 500;

export const IMPORT_KEYS = {
  method: 'POST',
  path: '/v1/keys/import',
  summary: 'Add keys by their digests, or change those that are kept already',
  input: z.strictObject({
    keys: z
      .array(importedKeySchema)
      .min(1)
      .max(MOST_IMPORTED)
      .describe('At most 500, and 256 KiB. What is blocked stays blocked.'),
    ...signed,
  }),
  output: z.object({
    ...{ added: count, changed: count, unchanged: count },
    refused: z
      .array(z.object({ index: count, message: z.string() }))
      .describe('Keys that were left out, by their places in `keys` from 0, and why.'),
    doubtful: z
      .array(z.object({ index: count, message: z.string() }))
      .describe('Keys that were taken, and have ended or have a plan that no policy has.'),
    warnings,
  }),
} satisfies Operation;
