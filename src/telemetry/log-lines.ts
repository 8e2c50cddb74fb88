/** Every line that the process logs, by its event. docs/logs.md is made of this; its texts are Markdown. */
import { DIALECT_NAMES } from '../dialects/index.ts';

export interface LogLine {
  readonly level: 'info' | 'warn' | 'error' | 'fatal';
  /** Absent where each line says something else. */
  readonly message?: string;
  /** What each of them holds. A line may lack those that say so. */
  readonly fields: Readonly<Record<string, string>>;
  /** What it means or what to do, where the message does not say it. */
  readonly meaning?: string;
  /** The one of docs/runbooks that deals with it. */
  readonly runbook?: string;
  /** Written at any `HEADGATE_LOG_LEVEL`. */
  readonly always?: true;
  /** How many there are, of what would fill the log. */
  readonly atMost?: string;
}

export type LogEvent = keyof typeof LOG_LINES;

/** All fields of a line. TypeScript refuses others only where there is a field that it knows, hence `event`. */
export type FieldsOf<E extends LogEvent> = Readonly<
  Record<keyof (typeof LOG_LINES)[E]['fields'], unknown>
> & { readonly event?: never };

/** A file that is wrong all over has thousands; headgate check lists them. */
export const TOLD_MISTAKES = 20;
/** Of a policy. */
export const LONGEST_NAME = 64;

const CAUSE = 'an error code, or the first words of the error; `unknown` where it has none';
const DIALECT = `the proxy that sent the check: ${DIALECT_NAMES.map((name) => `\`${name}\``).join(', ')}`;

const DENIAL = {
  decision_id: 'the id of the decision: what is denied has it in its headers and its body',
  policy: 'the policy that speaks; `none` for blocked clients and malformed paths',
  limit: 'the limit that speaks, as in `RateLimit-Policy`; absent when nothing was counted',
  reason:
    '`over_limit`, `blocked`, `malformed_path`, `malformed_host`, `ambiguous_identity` or `store_failure`',
  mode: '`enforced`: counted in the store. `local`: by this process alone. `closed`: not counted',
  identity:
    'what speaks for the client: `api_key`, `user`, `ip`, or a header of `identity.sources` with `_` in place of `-`',
  client:
    'a pseudonym: of an address (`i.`, a new one every day), a listed key (`c.`), another key (`k.`) or a user (`u.`)',
  came_as:
    'the key that it made up, where `client` is the address behind it: when that, and not the key, has used up its share, or nothing was counted',
  counted:
    'whose share was used up, where it is not the share of `client`: `g` for everybody, `h.` for a header, another key or address of the same client; absent when nothing was counted',
  retry_after_ms: 'until there is room again, milliseconds; absent when nothing was counted',
} as const;
/** A policy in shadow counts in the store or not at all. */
const { mode: _mode, ...SHADOW_DENIAL } = DENIAL;
const SUPPRESSED =
  'how many such denials had no line of their own since the line before: of this client, by this policy, for this reason';

const ONE_A_SECOND = 'one a second of each client, policy and reason';
const ONE_A_MINUTE = 'one a minute';

export const LOG_LINES = {
  denied: {
    level: 'info',
    message: 'a request was denied',
    fields: {
      ...DENIAL,
      dialect: DIALECT,
      duration_ms: 'from the arrival of the question to its answer, milliseconds',
      suppressed: SUPPRESSED,
    },
    runbook: 'HeadgateDenialsSpike',
    atMost: ONE_A_SECOND,
  },
  would_be_denied: {
    level: 'info',
    message: 'a policy in shadow would have denied a request',
    fields: {
      ...SHADOW_DENIAL,
      decision_id: 'an id of its own, which nobody was told',
      policy: 'the policy in shadow',
      reason: '`over_limit`',
      counted_in: '`store`',
      suppressed: SUPPRESSED,
    },
    meaning: 'It passed; with `mode: enforce` it would be `denied`.',
    atMost: ONE_A_SECOND,
  },
  allowed: {
    level: 'info',
    message: 'a request was allowed',
    fields: {
      policy: 'the policy that speaks',
      limit: 'the limit that speaks; absent when nothing was counted',
      reason: '`within_limits`, `exempt`, `not_enforced` or `store_failure`',
      mode: '`enforced`, `local` or `open`',
      counted: 'whose share it took from, as `client` of `denied`; absent when nothing was counted',
      remaining: 'units left of that limit; absent when nothing was counted',
      dialect: DIALECT,
      duration_ms: 'from the arrival of the question to its answer, milliseconds',
      one_in: 'the line stands for so many',
    },
    meaning: 'Only while an operator asks for it: `headgate log set --allows-one-in N`.',
  },
  operator_action: {
    level: 'warn',
    message: 'an operator changed what the gateway does',
    fields: {
      action: 'what was done, as in [the ops API](operating.md)',
      subject:
        'the pseudonym of the client, or the policy; absent for what concerns the gateway as a whole',
      change: 'what it is now',
      until: 'when it ends; absent for what has no end',
      reason: 'why, in their words',
      by: 'who, as they say',
    },
    meaning: 'The audit log: by the gateway that was asked; the others follow without a line.',
    always: true,
  },
  operation_failed: {
    level: 'error',
    message: 'an operation of the ops API failed: answered 500',
    fields: { err: 'the error: `type`, `message`, `stack`' },
    meaning: 'A fault of headgate: keep the line.',
  },
  operator_refused: {
    level: 'warn',
    message: 'a call of the ops API without the token of HEADGATE_ADMIN_TOKEN was refused',
    fields: {},
    atMost: ONE_A_MINUTE,
  },
  overrides_restored: {
    level: 'warn',
    message: 'Redis had lost overrides of operators: those that this gateway knew are there again',
    fields: { overrides: 'how many' },
    meaning: 'It was emptied, or started again without its data: counts are gone as well.',
    atMost: ONE_A_MINUTE,
  },
  overrides_unread: {
    level: 'warn',
    message:
      'the overrides of operators cannot be read from Redis: until they can, what was known stays in force',
    fields: { cause: CAUSE },
    meaning: 'Redis is away, or its account lacks rights: `headgate check --redis`.',
    atMost: ONE_A_MINUTE,
  },
  check_failed: {
    level: 'error',
    message: 'a check failed: answered 500',
    fields: { dialect: DIALECT, err: 'the error: `type`, `message`, `stack`' },
    meaning: 'A fault of headgate: keep the line.',
    runbook: 'HeadgateChecksFailed',
  },
  proxy_misconfigured: {
    level: 'warn',
    message:
      'the proxy leaves out headers that it must send: its requests are held to the strictest policy',
    fields: { dialect: DIALECT, missing: 'a list of the names of these headers' },
    meaning: 'Compare its configuration with its file in `deploy/`.',
    runbook: 'HeadgateProxyMisconfigured',
    atMost: 'one a minute of each `dialect`',
  },
  header_unseen: {
    level: 'warn',
    fields: {
      dialect: DIALECT,
      header: 'its name',
      requests: 'how many there were since the policy file was loaded',
    },
    meaning:
      'None of 1,000 requests through a proxy had a header that identity or a limit needs. If clients send it, the proxy does not pass it on, and they share limits: `headgate proxy-config`, or pass the header on. If nobody sends it, take it out of the policy file. A header that a CDN sets is missed only of requests that come from its networks. Once for each dialect and header until another policy file is loaded, by each worker.',
    runbook: 'HeadgateProxyMisconfigured',
  },
  header_seen: {
    level: 'info',
    message: 'a header that no request had before is there: the proxy passes it on',
    fields: { dialect: DIALECT, header: 'its name' },
    meaning: 'It ends `header_unseen`.',
    runbook: 'HeadgateProxyMisconfigured',
  },
  policy_unknown: {
    level: 'warn',
    message: 'a proxy names a policy that does not exist: its requests are matched like any other',
    fields: { policy: `the first ${LONGEST_NAME} characters of the name` },
    meaning: 'Correct the name in the route of Envoy, or write the policy.',
    runbook: 'HeadgateProxyMisconfigured',
    atMost: ONE_A_MINUTE,
  },
  untrusted_proxy: {
    level: 'warn',
    message:
      'a proxy outside identity.trusted_proxies asks: all its requests count for its own address',
    fields: {},
    meaning: 'Add the network that it connects from.',
    runbook: 'HeadgateProxyMisconfigured',
    atMost: ONE_A_MINUTE,
  },
  stranger_refused: {
    level: 'warn',
    message:
      'a call without the secret of HEADGATE_PROXY_SECRET was answered 403: a proxy that does not send it, or no proxy',
    fields: {},
    runbook: 'HeadgateProxyMisconfigured',
    atMost: ONE_A_MINUTE,
  },
  check_port_open: {
    level: 'warn',
    message:
      'the check port can be reached from other machines: whoever does can use up any limit; set HEADGATE_PROXY_SECRET',
    fields: {},
    meaning: 'Told at the start, unless only this machine can reach it.',
  },
  store_failed: {
    level: 'error',
    message: 'the store does not answer: policies follow their on_store_failure',
    fields: {
      reason: 'a word for what went wrong, see [failure modes](failure-modes.md#what-is-told)',
      cause: CAUSE,
    },
    runbook: 'HeadgateStoreDegraded',
    atMost: 'one a minute of each `reason`, and one when it begins',
  },
  started_uncounted: {
    level: 'error',
    message:
      'the gateway started, but Redis does not count yet: until it does, policies follow their on_store_failure',
    fields: {
      allow: 'a list of the policies whose requests pass uncounted',
      local: 'a list of the policies that each gateway counts by itself',
      deny: 'a list of the policies whose requests are denied',
    },
    meaning:
      'Redis is not there, hangs, is slower than half a second, or refuses to count: `headgate check --redis` says which. `store_recovered` says when it counts. Each worker says it for itself.',
    runbook: 'HeadgateStoreDegraded',
  },
  store_recovered: {
    level: 'info',
    message: 'the store answers: requests are counted from here on',
    fields: {},
    meaning:
      'It ends `started_uncounted`, `store_failed` and `store_connection_failed`: when no round trip has failed for 5 seconds, or, once a minute, as soon as a new connection counts.',
    runbook: 'HeadgateStoreDegraded',
  },
  store_connection_failed: {
    level: 'warn',
    message: 'no connection to Redis, trying again',
    fields: { cause: CAUSE },
    meaning: 'Nobody listens, or the handshake was refused: `headgate check --redis` says which.',
    runbook: 'HeadgateStoreDegraded',
    atMost: ONE_A_MINUTE,
  },
  requests_shed: {
    level: 'error',
    message:
      'this process is late with everything: until it is not, policies follow their on_store_failure',
    fields: {},
    runbook: 'HeadgateOverloaded',
    atMost: ONE_A_MINUTE,
  },
  salts_not_shared: {
    level: 'error',
    message:
      'the salts of addresses are not in Redis: until they are, each gateway counts addresses by itself',
    fields: { cause: CAUSE },
    meaning: 'Redis is away or full, or its account may not write: `headgate check --redis`.',
    atMost: ONE_A_MINUTE,
  },
  others_unheard: {
    level: 'warn',
    message:
      'other gateways cannot be heard: until they are, denials are not remembered, and overrides of operators are followed seconds later',
    fields: { cause: CAUSE },
    meaning: 'Redis is away, or its account may not subscribe: `headgate check --redis`.',
    atMost: ONE_A_MINUTE,
  },
  heartbeat_lost: {
    level: 'warn',
    message:
      'Redis did not take the heartbeat: gateways may not know how many of them share a limit while it is away',
    fields: { cause: CAUSE },
    meaning: 'Now and then its answer was late; if it goes on, `headgate check --redis` says why.',
    atMost: ONE_A_MINUTE,
  },
  policies_loaded: {
    level: 'info',
    message: 'the policy file was read again',
    fields: { policies: 'how many there are now, `default` among them' },
    meaning: 'It is in force.',
    runbook: 'HeadgatePolicyFileRefused',
  },
  policies_removed: {
    level: 'warn',
    message: 'policies were removed: they limit nothing any more',
    fields: {
      policies: `a list of the names of the first ${TOLD_MISTAKES}`,
      more: 'how many there are besides',
    },
    meaning:
      'The policy file was read again without them. If that was not meant, restore the file; replace files by renaming, so that no half of one is read.',
    runbook: 'HeadgatePolicyFileRefused',
  },
  policies_refused: {
    level: 'error',
    message: 'the policy file has mistakes: the policies stay what they were',
    fields: {
      mistakes: `a list of the first ${TOLD_MISTAKES}, each as \`file:line:column: path: what is wrong\``,
      more: 'how many there are besides',
    },
    meaning: 'Correct them; `headgate check` lists them all.',
    runbook: 'HeadgatePolicyFileRefused',
  },
  policy_note: {
    level: 'warn',
    fields: {},
    meaning:
      'What a valid policy file should not leave unsaid, at the start and whenever it is read; `headgate check` says it as well.',
  },
  worker_lost: {
    level: 'error',
    message: 'a worker ended, another takes its place',
    fields: {
      worker:
        'workers are counted as they start, from 1, replacements as well: not the `worker` of its own lines',
      how: 'the signal that ended it, or its exit code',
    },
    runbook: 'HeadgateWorkerLost',
  },
  workers_replaced: {
    level: 'info',
    message: 'every worker was replaced',
    fields: { workers: 'how many there are' },
    meaning: 'SIGUSR2 asked for it.',
  },
  workers_kept: {
    level: 'error',
    message: 'a new worker did not start: the others stay what they are',
    fields: { why: 'how the new one ended' },
    meaning: 'What it said itself comes before; correct that, and send SIGUSR2 again.',
  },
  stopping: {
    level: 'info',
    message: 'stopping',
    fields: { signal: 'the one that asked for it' },
    runbook: 'HeadgateDown',
  },
  crashed: {
    level: 'fatal',
    message: 'stopping after a fault',
    fields: { err: 'the error: `type`, `message`, `stack`' },
    meaning: 'Keep the line, and start it again; workers are replaced.',
    runbook: 'HeadgateDown',
  },
  stopped_by_force: {
    level: 'warn',
    message: 'stopped before everything was answered',
    fields: { why: 'a second signal, or how long it took' },
    runbook: 'HeadgateDown',
  },
} as const satisfies Readonly<Record<string, LogLine>>;
