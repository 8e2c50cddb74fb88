/** The JSON Schemas of the ops API: what each route takes, and what it answers. */
import { LOG_LEVELS } from '../config/settings/settings.ts';
import { POLICY_MODES } from '../core/policy.ts';
import { DEFAULT_DIALECT, DIALECT_NAMES } from '../operations/explain-answer.ts';

const text = { type: 'string' } as const;
/** Of a request head, as long as Node reads one. */
const LONGEST_URL = 16_384;
/** Whoever lists it has it in a terminal. */
const PRINTABLE = '^\\P{Cc}*$';
const count = { type: 'integer', minimum: 0 } as const;
const time = { type: 'string', format: 'date-time' } as const;

/** All of it is required but what is named. */
function object<P extends Record<string, object>>(
  properties: P,
  optional: readonly (keyof P & string)[] = [],
) {
  const required = Object.keys(properties).filter((name) => !optional.includes(name));
  return { type: 'object', properties, required, additionalProperties: false } as const;
}

const listOf = <T extends object>(items: T) => ({ type: 'array', items }) as const;

const client = {
  type: 'string',
  minLength: 1,
  maxLength: 8_192,
  description:
    'An address, an IPv6 network that is counted, a client as the log has it (`i.`, `k.`, `c.`, `u.`), `id:` and the id of a listed key, `key:` and a key, `user:` and a user, or the id of a decision.',
  examples: ['203.0.113.9', 'id:acme', '0f6e2d9c41ab-3'],
} as const;
const by = {
  type: 'string',
  minLength: 1,
  maxLength: 64,
  pattern: PRINTABLE,
  description: 'Who does it, for the audit log.',
} as const;
const reason = {
  type: 'string',
  minLength: 1,
  maxLength: 200,
  pattern: PRINTABLE,
  description: 'Why, for the audit log and the list of overrides.',
} as const;
const duration = {
  ...text,
  description: 'How long it holds: a number and s, min, h or d, 31d at most.',
  examples: ['30min'],
} as const;
const policyName = { type: 'string', minLength: 1, maxLength: 256 } as const;
const terms = { for: duration, reason, by };

export const byQuery = object({ by }, ['by']);
export const clientOverride = object({ client, ...terms }, ['by']);
export const liftedClient = object({ client, by }, ['by']);
export const reset = object(
  {
    client,
    policy: { ...policyName, description: 'Of one policy only.' },
    reason,
    by,
  },
  ['policy', 'reason', 'by'],
);
export const policyParam = object({ policy: policyName });
export const modeOverride = object({ mode: { type: 'string', enum: POLICY_MODES }, ...terms }, [
  'by',
]);
export const logOverride = object(
  {
    level: { type: 'string', enum: LOG_LEVELS },
    allows_one_in: {
      type: 'integer',
      minimum: 1,
      maximum: 1_000_000_000,
      description: 'One in so many allowed requests gets a line.',
    },
    ...terms,
  },
  ['level', 'allows_one_in', 'by'],
);
export const topQuery = object(
  {
    limit: { type: 'integer', minimum: 1, maximum: 100, default: 20 },
    shadow: {
      type: 'boolean',
      default: false,
      description: 'Who would be denied by policies in shadow.',
    },
  },
  ['limit', 'shadow'],
);
export const decisionParam = object({ id: { type: 'string', minLength: 1, maxLength: 64 } });
export const explained = object(
  {
    method: { ...text, default: 'GET' },
    url: {
      ...text,
      minLength: 1,
      maxLength: LONGEST_URL,
      description: 'A path or a URL, as the client sends it.',
    },
    headers: {
      type: 'object',
      additionalProperties: { anyOf: [text, listOf(text)] },
      default: {},
      description: 'Of the request: a value for each name, or a list of them.',
    },
    peer: { ...text, description: 'The address that connected to the proxy.' },
    client: { ...text, description: 'The address that the proxy takes the client to have.' },
    proxy: { ...text, default: '127.0.0.1', description: 'The address of the proxy.' },
    dialect: {
      type: 'string',
      enum: DIALECT_NAMES,
      default: DEFAULT_DIALECT,
      description: 'The proxy whose answer is shown.',
    },
  },
  ['method', 'headers', 'peer', 'client', 'proxy', 'dialect'],
);

export const error = object({
  error: { ...text, description: 'A word for programs.' },
  message: { ...text, description: 'What is wrong, and what would be right.' },
});
export const status = object({ status: text });
const unseenHeader = { dialect: { ...text, description: 'Through which proxy.' }, header: text };
export const readiness = object(
  {
    status: text,
    unseen_headers: {
      ...listOf(object(unseenHeader)),
      description: 'Headers that the policy file needs and no request through the proxy had.',
    },
  },
  ['unseen_headers'],
);
export const named = object({ client: text });
export const ofReset = object({ client: text, policies: listOf(text) });
export const restored = object({ policy: text }, ['policy']);

export const override = object(
  {
    about: { type: 'string', enum: ['client', 'policy', 'log_level', 'log_allows'] },
    client: text,
    access: { type: 'string', enum: ['exempt', 'blocked'] },
    policy: text,
    mode: { type: 'string', enum: POLICY_MODES },
    level: text,
    allows_one_in: count,
    since: time,
    until: time,
    reason: text,
    by: text,
  },
  ['client', 'access', 'policy', 'mode', 'level', 'allows_one_in'],
);
export const overrides = object({ overrides: listOf(override) });

export const policies = object({
  policies: listOf(
    object({
      name: text,
      mode: { type: 'string', enum: POLICY_MODES },
      mode_of_file: { type: 'string', enum: POLICY_MODES },
      limits: listOf(text),
      on_store_failure: text,
    }),
  ),
});

const denial = {
  decision_id: { ...text, description: 'Of the last denial.' },
  policy: text,
  reason: text,
  mode: text,
  client: text,
  came_as: { ...text, description: 'The key that it made up last.' },
  identity: text,
  limit: text,
  allows: { ...text, description: 'The limit in words.' },
  counted: { ...text, description: 'Whose share was used up.' },
  key: { ...text, description: 'Under which key of the store.' },
  dialect: text,
  denials: { ...count, description: 'Since then.' },
  since: time,
  last: time,
  until: { ...time, description: 'When there is room again, by the last denial.' },
};
const ofSome = ['came_as', 'limit', 'allows', 'counted', 'key', 'dialect', 'until'] as const;

export const top = object({
  clients: listOf(object(denial, ofSome)),
  gateways: object({ asked: count, answered: count }),
});
export const decision = object(
  {
    asked_for: text,
    ...denial,
    now: {
      ...object({ allows: text, remaining: count, retry_after_ms: count, reset_after_ms: count }),
      description:
        'The limit as it is and stands now; absent when it is not there any more, or the store is away.',
    },
    policy_mode: {
      type: 'string',
      enum: POLICY_MODES,
      description: 'The mode that the policy is in now; absent when it is not there any more.',
    },
    override: { ...override, description: 'What an operator decided of this client.' },
  },
  [...ofSome, 'now', 'policy_mode', 'override'],
);

export const explanation = object({
  steps: listOf(object({ about: text, what: text })),
  answer: object({
    dialect: { ...text, description: 'The proxy that gets this answer.' },
    status: count,
    headers: { ...listOf(text), description: 'Name, value, name, value.' },
    body: text,
  }),
});

export const stats = object(
  {
    store: { type: 'string', enum: ['memory', 'redis'] },
    gateways: { ...count, description: 'That count together.' },
    active_windows: { ...count, description: 'Windows that count somebody now.' },
    is_exact: { type: 'boolean', description: 'Otherwise estimated from a sample of the keys.' },
    sampled_keys: count,
    memory_bytes: { ...count, description: 'What these windows take up in Redis, about.' },
    servers: listOf(
      object({
        version: text,
        used_memory_bytes: count,
        max_memory_bytes: { ...count, description: '0: as much as there is.' },
        max_memory_policy: text,
        evicted_keys: count,
        connected_clients: count,
      }),
    ),
    unseen_headers: {
      ...listOf(object({ ...unseenHeader, requests: count })),
      description:
        'Headers that the policy file needs and none of so many requests through the proxy had, as this process sees it.',
    },
  },
  ['memory_bytes'],
);
