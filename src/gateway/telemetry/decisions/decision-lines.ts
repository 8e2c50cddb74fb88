import {
  DIALECT,
  DURATION,
  ERROR,
  KEEP_FOR_REPORT,
  type LogLines,
  ONE_A_MINUTE,
  ONE_A_SECOND,
} from '../log/log-line.ts';

/** The fields of a denial, whether its policy is enforced or in shadow. */
const DENIAL = {
  decision_id: 'the id of the decision, also in the headers and the body of the response',
  trace_id:
    'the trace id in the `traceparent` of the request, also in the body of the response. A client can invent it. Absent without a valid `traceparent`',
  policy: 'the limiting policy; `none` for blocked clients and malformed paths',
  limit:
    'the limit that was reached, named as in `RateLimit-Policy`; absent if nothing was counted, or if none ever is',
  reason:
    '`over_limit`, `blocked`, `malformed_path`, `malformed_host`, `malformed_mcp`, `ambiguous_identity` or `store_failure`',
  identity:
    'how the client was identified: `api_key`, `user`, `ip`, or a header of `identity.sources` with `_` in place of `-`',
  client:
    'a pseudonym of the client: of an address (`i.`, a new one every day), a listed key (`c.`), another key (`k.`) or a user (`u.`)',
  client_id: 'the id of a listed key, as in the policy file; absent for every other client',
  came_as:
    'the unlisted key of the request, if `client` is the address behind it: so it is unless the key itself reached its limit',
  counted:
    'whose counter was full, if it is not the counter of `client`: `g` for everybody, `h.` for a header, or another key or address of the same client; absent if nothing was counted, or if none ever is',
  retry_after_ms:
    'until the next request is allowed, milliseconds; absent if nothing was counted, or if none ever is',
  suppressed:
    'how many denials of this client, by this policy and for this reason, were not logged since the line before',
} as const;

export const DECISION_LINES = {
  denied: {
    level: 'info',
    message: 'a request was denied',
    fields: {
      ...DENIAL,
      blocked_by:
        '`policy_file`, `key` (`headgate keys`) or `override`: what blocked the client; absent for every other reason',
      listed_at: 'file and line of the entry of `block` that names the client; absent without one',
      mode: '`enforced`: counted in the store. `local`: counted by this process alone. `closed`: not counted',
      dialect: DIALECT,
      duration_ms: DURATION,
    },
    runbook: 'HeadgateDenialsSpike',
    atMost: ONE_A_SECOND,
  },
  would_be_denied: {
    level: 'info',
    message: 'a shadow policy would have denied a request',
    fields: {
      ...DENIAL,
      decision_id: 'an id for the log and for operators; the client does not get it',
      policy: 'the shadow policy',
      reason: '`over_limit`',
      counted_in: '`store`',
    },
    meaning: 'The request passed. With `mode: enforce` it would be `denied`.',
    atMost: ONE_A_SECOND,
  },
  allowed: {
    level: 'info',
    message: 'a request was allowed',
    fields: {
      policy: 'the limiting policy',
      limit: 'the limit with the least left; absent if nothing was counted, or if none ever is',
      reason: '`within_limits`, `exempt`, `not_enforced` or `store_failure`',
      mode: '`enforced`, `local` or `open`',
      counted:
        'whose counter was charged, as `client` of `denied`; absent if nothing was counted, or if none ever is',
      remaining: 'units left of that limit; absent if nothing was counted, or if none ever is',
      dialect: DIALECT,
      duration_ms: DURATION,
      one_in: 'how many allowed requests the line stands for',
    },
    meaning:
      'Only while an operator samples allowed requests: `headgate log set --allows-one-in N`.',
  },
  check_failed: {
    level: 'error',
    message: 'a check failed: answered 500',
    fields: { dialect: DIALECT, err: ERROR },
    meaning: KEEP_FOR_REPORT,
    runbook: 'HeadgateChecksFailed',
  },
  plan_unknown: {
    level: 'warn',
    message:
      'a client has a plan that no policy has, so it gets the limits without a plan: correct the plan of its key or what the proxy names, or add the plan to the policies',
    fields: {},
    meaning:
      'The plan comes from a key or, with `identity.plan`, from a proxy. The line does not say which plan it is, because it may be what a client wrote. `headgate explain` shows the plan of a request.',
    runbook: 'HeadgateProxyMisconfigured',
    atMost: ONE_A_MINUTE,
  },
  requests_shed: {
    level: 'error',
    message:
      'event loop overloaded: requests are not counted, policies follow their on_store_failure',
    fields: {},
    runbook: 'HeadgateOverloaded',
    atMost: ONE_A_MINUTE,
  },
} as const satisfies LogLines;
