/** Header fields that tell a client its quota. They are the same through every proxy. */
import type { BindingQuota, Decision } from '../../core/counting/decision.ts';
import { fnv1a32 } from '../../core/fnv1a.ts';
import type { AnswerStyle } from '../../core/matching/policy-set.ts';
import type { Limit } from '../../core/policy.ts';

/** Returns name, value, name, value. */
export function quotaHeaders(decision: Decision, style: AnswerStyle): string[] {
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

/**
 * Seconds until a retry can succeed: rounded up, at least 1, never too early. Undefined if none can. Jitter depends only on
 * the client and the limit, so a client that retries gets the same value.
 */
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
  let field = '';
  for (const [i, limit] of limits.entries()) {
    // Around midnight one limit is counted under two salts, as two entries in a row.
    if (limit === limits[i - 1]) continue;
    if (field.length > LONGEST_POLICY_FIELD) break;
    field += field === '' ? limit.policyItem : `, ${limit.policyItem}`;
  }
  return field;
}
