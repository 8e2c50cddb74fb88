/** The answer that most proxies want; a dialect changes what its proxy cannot take. */
import type { Decision } from '../../core/decision.ts';
import type { Answer, Dialect } from '../../core/dialect.ts';
import type { AnswerStyle } from '../../core/policy-set.ts';
import { contentType, denialBody } from './body.ts';
import { quotaHeaders, retryAfterSeconds } from './quota-headers.ts';

/**
 * Allow is exactly 200 with an empty body: Envoy takes 204 for a denial. Deny is 429, also when nothing could be
 * measured: a proxy that fails open takes 5xx for an allow. Who is blocked gets 403, since waiting changes nothing.
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
    headers.push('Retry-After', String(retryAfter), 'X-RateLimit-Policy', decision.policy);
  }
  if (decision.denial !== undefined) headers.push('X-RateLimit-Decision-Id', decision.denial.id);
  headers.push('Content-Type', contentType(style));
  return { status, headers, body: denialBody(decision, style, status, retryAfter) };
}

/** For a proxy that takes that answer as it is. */
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
