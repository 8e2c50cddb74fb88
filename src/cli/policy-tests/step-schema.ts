import { z } from 'zod';
import { parseDuration as parseLifetime } from '../../gateway/config/rate.ts';
import { holds } from '../../gateway/config/refinement.ts';
import { MAX_LIMIT } from '../../gateway/core/counting/store.ts';
import { DAY_MS } from '../../gateway/core/identity/salts.ts';
import { POLICY_MODES } from '../../gateway/core/policy.ts';
import type { SettleVerdict } from '../../gateway/settlement/channel.ts';
import { expectSchema } from './expectation-schema.ts';
import { duration, headerChanges, headerName, metadata, name, optional } from './values-schema.ts';

const REQUEST_PATTERN = /^([A-Za-z0-9!#$%&'*+.^_`|~-]+) (\/.*|https?:\/\/.+|\*)$/;

export interface RequestLine {
  readonly method: string;
  /** A path or a whole URL, exactly as written. */
  readonly url: string;
}

/** Throws a RangeError whose message gives the right form. */
function parseRequest(text: string): RequestLine {
  const [, method, url] = REQUEST_PATTERN.exec(text) ?? [];
  if (method !== undefined && url !== undefined) return { method, url };
  throw new RangeError('must be a method and a target, such as "POST /api/auth/login"');
}

const MAX_LIFETIME_MS = 31 * DAY_MS;

/** Returns the text: operations read it again. */
function checkLifetime(text: string): string {
  if (parseLifetime(text) > MAX_LIFETIME_MS) throw new RangeError('must be at most 31d');
  return text;
}

const policyMode = z.strictObject({ policy: z.string(), mode: z.enum(POLICY_MODES) });
const lifetime = z
  .string()
  .meta({ title: 'duration', examples: ['10min', '1h'] })
  .transform(holds(checkLifetime));

const overrideSchema = z.strictObject({
  block: optional(name, 'A client that gets 403.'),
  exempt: optional(name, 'A client that is not counted.'),
  mode: optional(policyMode, 'A policy, and the mode that it gets.'),
  for: optional(lifetime, 'How long, with block, exempt and mode.'),
  unblock: optional(name, 'A client whose block ends now.'),
  unexempt: optional(name, 'A client whose exemption ends now.'),
  restore: optional(z.string(), 'A policy that returns to the mode in the file.'),
});

export type WrittenOverride = z.output<typeof overrideSchema>;

const RESULTS = z.enum([
  'settled',
  'repeated',
  'waiting',
  'ended',
  'unknown_limit',
  'gone',
  'reset',
] satisfies SettleVerdict[]);

const settleSchema = z.strictObject({
  of: optional(
    name,
    'The earlier step whose requests are settled: its name, from as. Not with send.',
  ),
  status: optional(z.int().min(100).max(599), 'The status that the application answered.'),
  headers: optional(
    z.record(headerName, z.string('must be text (a number needs quotes)')).transform(toMap),
    'Response headers of the application, by name.',
  ),
  units: optional(
    z.record(z.string(), z.int().min(0)).transform(toMap),
    'By unit, such as tokens, what each request took.',
  ),
  result: RESULTS.default('settled').describe('What the gateway says of the report.'),
});

/** An `Outcome`, and what the gateway says of it. */
export type WrittenSettle = z.output<typeof settleSchema>;

function toMap<Value>(record: Readonly<Record<string, Value>>): ReadonlyMap<string, Value> {
  return new Map(Object.entries(record));
}

const requestLine = z
  .string()
  .meta({ title: 'request', pattern: REQUEST_PATTERN.source, examples: ['POST /api/auth/login'] })
  .transform(holds(parseRequest));

export const stepSchema = z.strictObject({
  at: optional(
    duration,
    'When, from the start of the test. Default: when the step before it ends.',
  ),
  send: optional(
    requestLine,
    'A request: its method, and its path or URL exactly as the client writes it.',
  ),
  client: optional(name, 'The client that sends it: a name under clients.'),
  host: optional(z.string(), "The host. Default: the client's."),
  headers: headerChanges.optional(),
  times: z
    .int()
    .min(1)
    .max(MAX_LIMIT + 1)
    .default(1)
    .describe('How often the request is sent. The expectation is for each of them.'),
  every: optional(duration, 'The time between them. Default: 0s.'),
  expect: expectSchema.optional(),
  metadata: optional(
    metadata,
    "What filters of Envoy say of the request, by their namespace, in addition to the client's metadata. null leaves out a namespace of the client.",
  ),
  as: optional(name, 'A name for the requests of this step, so that a later step can settle them.'),
  settle: optional(
    settleSchema,
    'Reports what requests turned out to cost: each of this step at once, or those of the step named by of.',
  ),
  store: optional(z.enum(['down', 'up']), 'The store fails, or works again.'),
  reload: optional(
    z.string().min(1),
    'A policy file that replaces the one in force, relative to the test file.',
  ),
  override: optional(overrideSchema, 'What an operator changes temporarily.'),
});

export type WrittenStep = z.output<typeof stepSchema>;
