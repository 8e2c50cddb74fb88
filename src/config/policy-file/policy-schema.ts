/**
 * The shape of a policy file, part by part: the one source of its types, its validation and its JSON Schema. What
 * only the whole file can tell (names used twice, policies that tie) is in policy-cross-checks.ts.
 */
import { z } from 'zod';
import { POLICY_MODES } from '../../core/policy.ts';
import { ALGORITHMS, MAX_LIMIT } from '../../core/store.ts';
import { holds, refusedBy } from '../refinement.ts';
import type { Path } from '../yaml-text.ts';
import { accessSchema } from './access-schema.ts';
import { checkHostTemplate, HOST_PATTERN } from './host-template.ts';
import { identitySchema } from './identity-schema.ts';
import { shortName } from './key-list.ts';
import { checkMethodName, METHOD_PATTERN } from './method-name.ts';
import { PARTITION_PATTERN, parsePartition } from './partition-name.ts';
import { checkPathTemplate } from './path-template.ts';
import { parseRate, RATE_PATTERN } from './rate.ts';

const rateText = z
  .string()
  .meta({
    title: 'rate',
    pattern: RATE_PATTERN.source,
    examples: ['5/5min', '100/1min', '1000/1h'],
  })
  .transform(holds(parseRate))
  .describe(
    'Requests per window, wherever it starts. Units: s, min, h, d; up to 1000000 in up to 31d.',
  );

const per = z
  .string()
  .meta({
    title: 'share',
    pattern: PARTITION_PATTERN.source,
    examples: ['client', 'ip', 'header:x-tenant'],
  })
  .transform(holds(parsePartition))
  .describe(
    'Whose share is counted: client, ip, api_key, user, global or header:<name>. ' +
      'A request without that key, user or header is counted by its address.',
  );

const units = z.int().min(1).max(MAX_LIMIT);

const limitMap = z.strictObject({
  rate: rateText,
  per: per.default('client'),
  algorithm: z
    .enum(ALGORITHMS)
    .default('sliding-window-log')
    .describe(
      'The log is exact; the counter takes constant memory; the bucket lets bursts through.',
    ),
  burst: units
    .optional()
    .describe('Of a token bucket: the most units at one moment. Default: those of the rate.'),
  count_rejected: z
    .boolean()
    .default(false)
    .describe('Whether denied requests use the limit up too.'),
});

const PLAIN_LIMIT = {
  per: 'client',
  algorithm: 'sliding-window-log',
  burst: undefined,
  count_rejected: false,
} as const;

const limit = z
  .union(
    [rateText.transform((rate) => ({ ...PLAIN_LIMIT, rate })), limitMap],
    'must be a rate such as 5/5min, or a map of a rate and whose share it is',
  )
  .describe('A rate per client, or a rate and how it is counted.');

const limits = z
  .array(limit)
  .min(1)
  .max(16)
  .describe('A request takes from all of them or from none. A rate alone is one per client.');

const plans = z
  .record(shortName, limits)
  .default({})
  .describe('Limits that clients whose listed key has a plan get instead.');

const cost = units.default(1).describe('Units that one request takes.');
const mode = z
  .enum(POLICY_MODES)
  .default('enforce')
  .describe(
    'enforce denies; shadow counts and reports what it would deny; off lets requests pass uncounted.',
  );

const onStoreFailure = z
  .enum(['allow', 'deny', 'local'])
  .optional()
  .describe(
    'While the store cannot be asked: let requests pass, refuse them, or count in this process alone. Default: that of the file.',
  );

const onGatewayFailure = z
  .enum(['allow', 'deny'])
  .default('allow')
  .describe(
    'While the gateway is down or too slow: the proxy lets requests pass, or refuses them with 503. The proxy decides this by its own file: print it with `headgate proxy-config`.',
  );

const method = z
  .string()
  .meta({ title: 'upper-case method', pattern: METHOD_PATTERN.source, examples: ['POST'] })
  .transform(holds(checkMethodName));

const host = z
  .string()
  .meta({
    title: 'lower-case host',
    pattern: HOST_PATTERN.source,
    examples: ['api.example.com', '*.example.com'],
  })
  .transform(holds(checkHostTemplate));

const path = z
  .string()
  .meta({ title: 'path', examples: ['/api/auth/login', '/users/:id', '/static/*'] })
  .transform(holds(checkPathTemplate));

const match = z
  .strictObject({
    method: z
      .union([method, z.array(method).min(1)], 'must be a method such as POST, or a list of them')
      .optional()
      .describe('The method, or any of a list.'),
    host: host.optional().describe('The host, without a port.'),
    path: path.optional().describe('A path with ":name" segments and, at its end, "/*".'),
  })
  .refine((value) => Object.keys(value).length > 0, 'must name a method, a host or a path');

const policyName = shortName
  .refine((name) => name !== 'default' && name !== 'none', 'is taken, choose another name')
  .describe('What logs, metrics and answers call it.');

export const policySchema = z
  .strictObject({
    name: policyName,
    match: match
      .optional()
      .describe(
        'Which requests it is for: all that is named here must hold. Required unless always is true.',
      ),
    always: z
      .boolean()
      .default(false)
      .describe('Applies besides the most specific policy instead of competing with it.'),
    limits,
    plans,
    cost,
    mode,
    on_store_failure: onStoreFailure,
    on_gateway_failure: onGatewayFailure,
  })
  .refine((policy) => policy.always || policy.match !== undefined, {
    path: ['match'],
    message: 'is missing, say which requests this policy is for or set "always: true"',
    params: refusedBy('missing-key'),
  });

export const defaultSchema = z
  .strictObject({ limits, plans, cost, mode, on_store_failure: onStoreFailure })
  .describe('For every request that no policy names.');

export const matchingSchema = z.strictObject({
  case_sensitive: z.boolean().default(false).describe('Whether /Login and /login are two paths.'),
});

export const answersSchema = z.strictObject({
  reset: z
    .enum(['epoch', 'delta'])
    .default('epoch')
    .describe('X-RateLimit-Reset as seconds since 1970 or from now.'),
  retry_after_jitter_seconds: z
    .int()
    .min(0)
    .max(300)
    .default(0)
    .describe(
      'Up to so many seconds are added to Retry-After, so that clients do not return at once.',
    ),
  body: z
    .enum(['json', 'problem+json'])
    .default('json')
    .describe('The body of a denial: our own JSON, or that of RFC 9457.'),
});

const version = z.literal(1).describe('The form of this file.');

/** For policies that do not say themselves. */
export const globalFailureMode = onStoreFailure
  .default('allow')
  .describe(
    'While the store cannot be asked, for policies that do not say themselves: let requests pass, refuse them, or count in this process alone.',
  );

/** For editors; loading validates each part by itself, so that one mistake does not hide another. */
export const policyFileSchema = z
  .strictObject({
    version,
    identity: identitySchema.optional().describe('Who a client is, and who may say so.'),
    matching: matchingSchema.optional().describe('How paths are compared.'),
    answers: answersSchema.optional().describe('What clients are told.'),
    exempt: accessSchema
      .optional()
      .describe('Clients whom no policy counts, also if they are blocked.'),
    block: accessSchema.optional().describe('Clients who get 403 before anything is counted.'),
    on_store_failure: globalFailureMode,
    default: defaultSchema,
    policies: z
      .array(policySchema)
      .default([])
      .describe('What some requests get in place of the default, or besides it.'),
  })
  .describe('headgate policy file');

const DEFAULT_MISSING =
  'is missing: requests that no policy matches need limits, as in "default: { limits: [1000/1h] }"';

/** The file with its parts left open. */
export const outlineSchema = z.strictObject({
  version,
  identity: z.unknown().optional(),
  matching: z.unknown().optional(),
  answers: z.unknown().optional(),
  exempt: z.unknown().optional(),
  block: z.unknown().optional(),
  on_store_failure: z.unknown().optional(),
  default: z.record(z.string(), z.unknown(), {
    error: ({ input }) => (input === undefined ? DEFAULT_MISSING : undefined),
  }),
  policies: z.array(z.unknown()).default([]),
});

export type LimitEntry = z.output<typeof limit>;
export type PolicyEntry = z.output<typeof policySchema>;
export type DefaultEntry = z.output<typeof defaultSchema>;
export type AnswersSection = z.output<typeof answersSchema>;

/** The limits of a policy, and those of each plan in their place. */
export function limitLists(
  { limits, plans }: DefaultEntry,
  at: Path,
): { readonly limits: readonly LimitEntry[]; readonly path: Path }[] {
  return [
    { limits, path: [...at, 'limits'] },
    ...Object.entries(plans).map(([plan, written]) => ({
      limits: written,
      path: [...at, 'plans', plan],
    })),
  ];
}

/** Those of every client, plans included. */
export function allLimits({ limits, plans }: DefaultEntry): LimitEntry[] {
  return [limits, ...Object.values(plans)].flat();
}
