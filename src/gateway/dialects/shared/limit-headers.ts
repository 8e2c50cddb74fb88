/** The headers that tell clients their limits. */
import type { AnswerStyle } from '../../core/answer-style.ts';
import type { BindingQuota, ByUnit, Decision } from '../../core/counting/decision.ts';
import type { Limit } from '../../core/policy.ts';

/** Returns name, value, name, value. */
export function limitHeaders(decision: Decision, style: AnswerStyle): string[] {
  const { mode, binding, shown = binding, limits, byUnit } = decision;
  const headers = ['Cache-Control', 'no-store'];
  if (mode !== 'enforced') headers.push('X-RateLimit-Mode', mode);
  if (byUnit !== undefined) pushOpenAi(headers, byUnit);
  else if (shown !== undefined && shown.limit.policy.headers !== 'off') {
    pushStandard(headers, shown, style);
    headers.push('RateLimit-Policy', rateLimitPolicy(limits));
  }
  return headers;
}

/** Clients must learn no number of the limit that denied the request. */
export function isHidden({ binding, hidesPolicy }: Decision, { headers }: AnswerStyle): boolean {
  return headers === 'off' || hidesPolicy === true || binding?.limit.policy.headers === 'off';
}

function pushStandard(headers: string[], binding: BindingQuota, { reset }: AnswerStyle): void {
  const { state, nowMs } = binding;
  const resetMs = reset === 'epoch' ? nowMs + state.resetAfterMs : state.resetAfterMs;
  headers.push(
    'X-RateLimit-Limit',
    String(state.limit),
    'X-RateLimit-Remaining',
    String(state.remaining),
    'X-RateLimit-Reset',
    String(Math.ceil(resetMs / 1000)),
    'RateLimit',
    rateLimit(binding),
  );
}

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
    if (limit === limits[i - 1] || limit.policy.headers === 'off') continue;
    if (field.length > LONGEST_POLICY_FIELD) break;
    field += field === '' ? limit.policyItem : `, ${limit.policyItem}`;
  }
  return field;
}

/** Those of the API of OpenAI (its guide "Rate limits", section "Rate limits in headers"). */
function pushOpenAi(headers: string[], byUnit: ByUnit): void {
  const { requests, tokens } = byUnit;
  for (const [unit, quota] of [['Requests', requests] as const, ['Tokens', tokens] as const]) {
    if (quota === undefined) continue;
    const { limit, remaining, resetAfterMs } = quota.state;
    headers.push(`X-RateLimit-Limit-${unit}`, String(limit));
    headers.push(`X-RateLimit-Remaining-${unit}`, String(remaining));
    headers.push(`X-RateLimit-Reset-${unit}`, duration(Math.ceil(resetAfterMs)));
  }
}

/** As the type Duration of Go is written, in whole milliseconds: `12ms`, `1.5s`, `6m0s`, `1h0m0s`. */
export function duration(ms: number): string {
  if (ms < 1_000) return ms === 0 ? '0s' : `${ms}ms`;
  const minutes = Math.floor(ms / 60_000);
  const seconds = `${(ms % 60_000) / 1_000}s`;
  if (minutes === 0) return seconds;
  return minutes < 60
    ? `${minutes}m${seconds}`
    : `${Math.floor(minutes / 60)}h${minutes % 60}m${seconds}`;
}
