/** The answer for most proxies. A dialect changes what its proxy cannot use. */
import type { Decision } from '../../core/counting/decision.ts';
import type { Answer, Dialect } from '../../core/dialect.ts';
import type { AnswerStyle } from '../../core/matching/policy-set.ts';
import { contentType, denialBody } from './body.ts';
import { quotaHeaders, retryAfterSeconds } from './quota-headers.ts';

/**
 * Allow is exactly 200 with an empty body, because Envoy treats 204 as a denial. Deny is 429, even if nothing could be
 * counted, because a proxy that fails open treats 5xx as an allow. A blocked client gets 403: waiting does not help.
 */
export function answer(
  decision: Decision,
  style: AnswerStyle,
  badRequest: Dialect['badRequest'],
): Answer {
  const headers = quotaHeaders(decision, style);
  if (decision.verdict === 'allow') return { status: 200, headers, body: '' };
  const status = statusOf(decision, badRequest);
  const retryAfter = retryAfterSeconds(decision, style);
  if (status === 429) {
    if (retryAfter !== undefined) headers.push('Retry-After', String(retryAfter));
    headers.push('X-RateLimit-Policy', decision.policy);
  }
  if (decision.denial !== undefined) headers.push('X-RateLimit-Decision-Id', decision.denial.id);
  headers.push('Content-Type', contentType(style));
  return {
    status,
    headers,
    body: denialBody(decision, style, { status, retryAfterSeconds: retryAfter }),
  };
}

export function renderer(badRequest: Dialect['badRequest']): Dialect['render'] {
  return (decision, style) => answer(decision, style, badRequest);
}

const BAD_REQUESTS: ReadonlySet<Decision['reason']> = new Set([
  'malformed_path',
  'malformed_host',
  'ambiguous_identity',
]);

function statusOf({ reason }: Decision, badRequest: Dialect['badRequest']): number {
  if (BAD_REQUESTS.has(reason)) return badRequest;
  return reason === 'blocked' ? 403 : 429;
}
