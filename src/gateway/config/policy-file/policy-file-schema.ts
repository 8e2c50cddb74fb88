import { z } from 'zod';
import { POLICY_MODES } from '../../core/policy.ts';
import { refusedBy } from '../refinement.ts';
import { accessSchema } from './access-schema.ts';
import { answersSchema, ownAnswersSchema } from './answers-schema.ts';
import { identitySchema } from './identity-schema.ts';
import { shortName } from './key-list.ts';
import { limits, plans, units } from './limit-schema.ts';
import { matchSchema } from './match.ts';

const cost = units.default(1).describe('Units that one request takes.');

const mode = z
  .enum(POLICY_MODES)
  .default('enforce')
  .describe(
    'enforce denies requests. shadow counts, and reports what it would deny. off admits requests without counting.',
  );

const onStoreFailure = z
  .enum(['allow', 'deny', 'local'])
  .optional()
  .describe(
    'If the store fails: allow requests, deny them, or count in this process alone. Default: the value of the file.',
  );

const onGatewayFailure = z
  .enum(['allow', 'deny'])
  .default('allow')
  .describe(
    'If the gateway is down or too slow, the proxy allows requests or refuses them with 503. The configuration of the proxy decides this, so print it with `headgate proxy-config`.',
  );

const policyName = shortName
  .refine((name) => name !== 'default' && name !== 'none', 'is reserved, choose another name')
  .describe('The name in logs, metrics and responses.');

export const policySchema = z
  .strictObject({
    name: policyName,
    match: matchSchema
      .optional()
      .describe(
        'The requests of this policy. A request must match all keys given here. Required unless always is true.',
      ),
    always: z
      .boolean()
      .default(false)
      .describe('Always applies, in addition to the matching policy.'),
    limits,
    plans,
    cost,
    mode,
    on_store_failure: onStoreFailure,
    on_gateway_failure: onGatewayFailure,
    answers: ownAnswersSchema.optional(),
  })
  .refine((policy) => policy.always || policy.match !== undefined, {
    path: ['match'],
    message: 'is missing, say which requests this policy is for or set "always: true"',
    params: refusedBy('missing-key'),
  })
  .refine((policy) => !policy.always || policy.match?.mcp === undefined, {
    path: ['always'],
    message:
      'cannot be for some MCP calls: remove it, or replace mcp with "method: POST" to count every call of the path',
  });

export const defaultSchema = z
  .strictObject({
    limits,
    plans,
    cost,
    mode,
    on_store_failure: onStoreFailure,
    answers: ownAnswersSchema.optional(),
  })
  .describe('Applies to requests that match no policy. Required.');

export const matchingSchema = z.strictObject({
  case_sensitive: z
    .boolean()
    .default(false)
    .describe('Whether /Login and /login are different paths.'),
});

const version = z.literal(1).describe('The version of the file format.');

export const globalFailureMode = onStoreFailure
  .default('allow')
  .describe(
    'If the store fails, for policies without this key: allow requests, deny them, or count in this process alone.',
  );

/** For the JSON Schema. Loading validates each section by itself, so that one mistake does not hide another. */
const policyFileSchema = z
  .strictObject({
    version,
    identity: identitySchema
      .optional()
      .describe('How clients are identified, and which proxies are trusted.'),
    matching: matchingSchema.optional().describe('How paths are compared.'),
    answers: answersSchema.optional().describe('The form of responses to clients.'),
    exempt: accessSchema
      .optional()
      .describe('Clients that no policy limits. Exempt wins over block.'),
    block: accessSchema.optional().describe('Clients that get 403. Nothing is counted for them.'),
    on_store_failure: globalFailureMode,
    default: defaultSchema,
    policies: z
      .array(policySchema)
      .default([])
      .describe('Limits for some requests, in place of the default or in addition to it.'),
  })
  .describe('headgate policy file');

const unread = z.unknown().optional();

const DEFAULT_EXAMPLE =
  'requests that match no policy need limits, as in "default: { limits: [1000/1h] }"';

/** The sections of a file are parsed one by one. */
export const outlineSchema = z.strictObject({
  ...Object.fromEntries(Object.keys(policyFileSchema.shape).map((key) => [key, unread])),
  version,
  default: z.record(z.string(), z.unknown(), {
    error: ({ input }) => {
      if (input === undefined) return `is missing: ${DEFAULT_EXAMPLE}`;
      return input === null ? `must be a map, not empty: ${DEFAULT_EXAMPLE}` : undefined;
    },
  }),
  policies: z
    .array(z.unknown(), {
      error: ({ input }) =>
        input === null ? 'is empty: list a policy, or remove the key' : undefined,
    })
    .default([]),
});

export function policyFileJsonSchema(): string {
  return jsonSchemaOf(policyFileSchema);
}

/** The schema of what an author writes, as the text of a file. */
export function jsonSchemaOf(written: z.ZodType): string {
  const schema = z.toJSONSchema(written, {
    target: 'draft-7',
    io: 'input',
    override({ zodSchema, jsonSchema }) {
      const { def } = zodSchema._zod;
      // zod leaves out defaults of transformed values. Ours are written as in a file.
      if (def.type === 'default') jsonSchema.default = def.defaultValue;
    },
  });
  return `${JSON.stringify(schema, null, 2)}\n`;
}
