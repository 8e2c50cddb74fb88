/** Schema of a whole test file. Its types, its validation and its JSON Schema come from here. */
import { z } from 'zod';
import { shortName } from '../../gateway/config/policy-file/key-list.ts';
import { holds } from '../../gateway/config/refinement.ts';
import { DEFAULT_DIALECT, DIALECT_NAMES } from '../../gateway/operations/request-form.ts';
import { stepSchema } from './step-schema.ts';
import { address, headers, metadata, name, optional } from './values-schema.ts';

/** Milliseconds since the epoch. Throws a RangeError whose message gives the right form. */
function parseStart(text: string): number {
  const isTime = z.iso.datetime({ offset: true }).safeParse(text).success;
  const ms = isTime ? Date.parse(text) : Number.NaN;
  if (ms >= Date.UTC(2000) && ms < Date.UTC(2100)) return ms;
  throw new RangeError('must be a time from 2000 to 2099, such as 2026-01-05T12:00:00Z');
}

const clientSchema = z.strictObject({
  address: address.describe("The client's address, as the proxy reports it."),
  peer: optional(address, 'The address that connected to the proxy. Default: the same address.'),
  api_key: optional(
    z.string().min(1).max(64),
    'The id of a listed API key. The client sends a key that counts as this one.',
  ),
  host: optional(z.string(), 'The host of its requests.'),
  headers: headers.optional(),
  metadata: optional(
    metadata,
    'What filters of Envoy say of its requests, by their namespace: the claims of its token.',
  ),
});

const apiKeySchema = z.union(
  [
    z.string().transform((id) => ({ id, plan: undefined })),
    z.strictObject({ id: z.string().min(1).max(64), plan: shortName.optional() }),
  ],
  'must be the id of a key, or a map such as { id: acme, plan: pro }',
);

const testSchema = z.strictObject({
  name,
  skip: optional(name, 'Why the test is not run.'),
  steps: z.array(stepSchema).min(1).describe('What happens, in the order of time.'),
});

export const testFileSchema = z
  .strictObject({
    policies: z
      .string()
      .min(1)
      .describe('The policy file that is tested, relative to the folder of this file.'),
    start: z
      .string()
      .meta({ title: 'time', examples: ['2026-01-05T12:00:00Z'] })
      .transform(holds(parseStart))
      // At noon, so that most windows do not reach back over midnight, where addresses count under two pseudonyms.
      .prefault('2026-01-05T12:00:00Z')
      .describe('When each test starts.'),
    proxy: z
      .enum(DIALECT_NAMES)
      .default(DEFAULT_DIALECT)
      .describe('The proxy for which answers are rendered.'),
    proxy_address: address.prefault('127.0.0.1').describe('The address of the proxy.'),
    gateways: z
      .int()
      .min(1)
      .max(1_000)
      .default(1)
      .describe('Gateways that share the limits. While the store is down, each has its share.'),
    api_keys: z
      .array(apiKeySchema)
      .default([])
      .describe(
        'API keys that count as listed, in addition to those of the policy file: keys in Redis, for example.',
      ),
    clients: z.record(name, clientSchema).describe('The clients that send requests, by name.'),
    tests: z.array(testSchema).min(1),
  })
  .describe('headgate policy tests');

export type WrittenClient = z.output<typeof clientSchema>;
export type WrittenApiKey = z.output<typeof apiKeySchema>;

/** Each section is validated by itself, so that one mistake does not hide another. */
export const sections = testFileSchema.shape;
export const client = clientSchema;

const { shape } = testFileSchema;
export const outlineSchema = z.strictObject(
  Object.fromEntries(Object.keys(shape).map((key) => [key, z.unknown().optional()])),
);
export const testOutlineSchema = testSchema.extend({ steps: z.array(z.unknown()).min(1) });
