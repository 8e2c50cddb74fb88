/** The answer for most proxies. A dialect changes what its proxy cannot use. */

import type { AnswerStyle } from '../../core/answer-style.ts';
import type { HeaderFields } from '../../core/check-request.ts';
import type { BindingQuota, Decision } from '../../core/counting/decision.ts';
import type { Answer, Dialect } from '../../core/dialect.ts';
import { fnv1a32 } from '../../core/fnv1a.ts';
import type { Limit } from '../../core/policy.ts';
import { addCors } from './cors.ts';

/** It is for the application: proxies must not pass it on to clients. */
export const SETTLE_HEADER = 'X-Headgate-Settle';

/**
 * Allow is exactly 200 with an empty body, because Envoy treats 204 as a denial. Deny is 429, even if nothing could be
 * counted, because a proxy that fails open treats 5xx as an allow. A blocked client gets 403: waiting does not help.
 */
export function answer(decision: Decision, { style, badRequest, sent }: Answering): Answer {
  const headers = quotaHeaders(decision, style);
  if (decision.verdict === 'allow') {
    if (decision.settleToken !== undefined) headers.push(SETTLE_HEADER, decision.settleToken);
    return { status: 200, headers, body: '' };
  }
  const status = statusOf(decision, badRequest);
  const retryAfter = retryAfterSeconds(decision, style);
  if (status === 429) {
    if (retryAfter !== undefined) headers.push('Retry-After', String(retryAfter));
    headers.push('X-RateLimit-Policy', decision.policy);
  }
  if (decision.denial !== undefined) headers.push('X-RateLimit-Decision-Id', decision.denial.id);
  headers.push('Content-Type', contentType(style));
  addCors(headers, style, sent);
  return {
    status,
    headers,
    body: denialBody(decision, style, { status, retryAfterSeconds: retryAfter }),
  };
}

export function renderer(badRequest: Dialect['badRequest']): Dialect['render'] {
  return (decision, style, sent) => answer(decision, { style, sent, badRequest });
}

export interface Answering {
  readonly style: AnswerStyle;
  readonly badRequest: Dialect['badRequest'];
  /** The headers of the client's request. */
  readonly sent?: HeaderFields | undefined;
}

function statusOf({ reason }: Decision, badRequest: Dialect['badRequest']): number {
  if (REFUSALS[reason] === undefined) return 429;
  return reason === 'blocked' ? 403 : badRequest;
}

/** Returns name, value, name, value. */
function quotaHeaders(decision: Decision, style: AnswerStyle): string[] {
  const headers = ['Cache-Control', 'no-store'];
  if (decision.mode !== 'enforced') headers.push('X-RateLimit-Mode', decision.mode);
  if (decision.binding === undefined) return headers;
  const { state, nowMs } = decision.binding;
  const resetMs = style.reset === 'epoch' ? nowMs + state.resetAfterMs : state.resetAfterMs;
  headers.push(
    'X-RateLimit-Limit',
    String(state.limit),
    'X-RateLimit-Remaining',
    String(state.remaining),
    'X-RateLimit-Reset',
    String(Math.ceil(resetMs / 1000)),
    'RateLimit',
    rateLimit(decision.binding),
    'RateLimit-Policy',
    rateLimitPolicy(decision.limits),
  );
  return headers;
}

/** At least 1, never too early. Undefined if no retry can succeed. Jitter depends only on the client and the limit. */
export function retryAfterSeconds(decision: Decision, style: AnswerStyle): number | undefined {
  const { binding } = decision;
  if (binding === undefined) return CLOSED_RETRY_AFTER_SECONDS;
  if (binding.isNeverMet) return undefined;
  const seconds = Math.max(1, Math.ceil(binding.state.retryAfterMs / 1000));
  const spread = style.retryAfterJitterSeconds;
  return spread === 0 ? seconds : seconds + (fnv1a32(binding.key) % (spread + 1));
}

/** If nothing can be counted now, counting may work again at any moment. */
const CLOSED_RETRY_AFTER_SECONDS = 1;

/**
 * `RateLimit: "login";r=4;t=300` (draft-ietf-httpapi-ratelimit-headers-10, section 4): `r` units remain, and more are
 * available in `t` seconds. For a denied request that is when it can be retried, else when the quota is full again.
 */
function rateLimit({ limit, state }: BindingQuota): string {
  const moreAfterMs = state.retryAfterMs > 0 ? state.retryAfterMs : state.resetAfterMs;
  return `"${limit.label}";r=${state.remaining};t=${Math.ceil(moreAfterMs / 1000)}`;
}

/** Proxies reject answers with long headers and may then let the request through. */
const LONGEST_POLICY_FIELD = 2_048;

/** `RateLimit-Policy: "login";q=5;w=300` (the same draft, section 3): the limits that apply, each once. */
function rateLimitPolicy(limits: readonly Limit[]): string {
  const [only] = limits;
  if (only !== undefined && limits.length === 1) return only.policyItem;
  let field = '';
  for (const [i, limit] of limits.entries()) {
    // Around midnight one limit is counted under two salts, as two entries in a row.
    if (limit === limits[i - 1]) continue;
    if (field.length > LONGEST_POLICY_FIELD) break;
    field += field === '' ? limit.policyItem : `, ${limit.policyItem}`;
  }
  return field;
}

/** The code of JSON-RPC that SEP-3304 proposes for rate limits of MCP. */
const RATE_LIMITED = -32_023;

const CONTENT_TYPES = {
  json: 'application/json',
  'problem+json': 'application/problem+json',
  'json-rpc': 'application/json',
  openai: 'application/json',
};

/** From draft-ietf-httpapi-ratelimit-headers-10, section 7. `about:blank` is from RFC 9457, section 4.2.1. */
const QUOTA_EXCEEDED = 'https://iana.org/assignments/http-problem-types#quota-exceeded';

export function contentType(style: AnswerStyle): string {
  return CONTENT_TYPES[style.body];
}

/** Ends with a line break, so that a terminal's prompt starts on a new line. */
export function denialBody(
  decision: Decision,
  style: AnswerStyle,
  { status, retryAfterSeconds }: { status: number; retryAfterSeconds: number | undefined },
): string {
  const { reason, denial } = decision;
  const refusal = REFUSALS[reason];
  const message = refusal?.message ?? whenAllowed(decision, retryAfterSeconds);
  const policy = refusal === undefined ? decision.policy : undefined;
  // JSON leaves out what is undefined.
  const rest = {
    retry_after: refusal === undefined ? retryAfterSeconds : undefined,
    decision_id: denial?.id,
    trace_id: denial?.traceId,
  };
  if (style.body === 'json-rpc') {
    const error = { code: style.jsonRpcCode ?? RATE_LIMITED, message, data: { policy, ...rest } };
    return `${JSON.stringify({ jsonrpc: '2.0', id: null, error })}\n`;
  }
  const fields =
    style.body === 'json'
      ? { error: refusal === undefined ? errorCode(decision) : reason, message, policy, ...rest }
      : {
          type: reason === 'over_limit' ? QUOTA_EXCEEDED : 'about:blank',
          title: refusal?.title ?? 'Too Many Requests',
          status,
          detail: message,
          'violated-policies': policy && [policy],
          ...rest,
        };
  return `${JSON.stringify(fields)}\n`;
}

const REFUSALS: Partial<Record<Decision['reason'], { title: string; message: string }>> = {
  malformed_path: {
    title: 'Bad Request',
    message: 'The request path contains control characters or is ambiguous.',
  },
  malformed_host: {
    title: 'Bad Request',
    message: 'The host is not a name or address with an optional port.',
  },
  malformed_mcp: {
    title: 'Bad Request',
    message:
      'A header of the MCP call has several values, is too long, or is not encoded as MCP requires.',
  },
  ambiguous_identity: {
    title: 'Bad Request',
    message:
      'A header that identifies the client has several values, blanks around its value, or more than 8,192 bytes.',
  },
  blocked: { title: 'Forbidden', message: 'This client is blocked.' },
};

function errorCode({ reason }: Decision): string {
  return reason === 'store_failure' ? 'rate_limit_unavailable' : 'rate_limit_exceeded';
}

function whenAllowed({ policy, binding }: Decision, retryAfterSeconds: number | undefined): string {
  const retry =
    retryAfterSeconds === undefined
      ? 'It never allows this request.'
      : `Try again in ${retryAfterSeconds} second${retryAfterSeconds === 1 ? '' : 's'}.`;
  if (binding === undefined) return `Rate limiting is temporarily unavailable. ${retry}`;
  return `Policy ${policy} allows ${binding.limit.description}. ${retry}`;
}
