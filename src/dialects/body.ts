/** The body of a denial: what happened, by which policy, and when to come back. */
import type { Decision } from '../core/decision.ts';
import type { AnswerStyle } from '../core/policy-set.ts';

const CONTENT_TYPES = { json: 'application/json', 'problem+json': 'application/problem+json' };

/** Registered by draft-ietf-httpapi-ratelimit-headers-10, section 7; `about:blank` is RFC 9457, section 4.2.1. */
const QUOTA_EXCEEDED = 'https://iana.org/assignments/http-problem-types#quota-exceeded';

export function contentType(style: AnswerStyle): string {
  return CONTENT_TYPES[style.body];
}

export function denialBody(
  decision: Decision,
  style: AnswerStyle,
  status: number,
  retryAfterSeconds: number,
): string {
  const message = messageFor(decision, retryAfterSeconds);
  const retryable = decision.reason !== 'malformed_path';
  if (style.body === 'json') {
    return JSON.stringify({
      error: errorCode(decision),
      message,
      ...(retryable && { policy: decision.policy, retry_after: retryAfterSeconds }),
    });
  }
  return JSON.stringify({
    type: decision.reason === 'over_limit' ? QUOTA_EXCEEDED : 'about:blank',
    title: retryable ? 'Too Many Requests' : 'Bad Request',
    status,
    detail: message,
    ...(retryable && { 'violated-policies': [decision.policy], retry_after: retryAfterSeconds }),
  });
}

function errorCode({ reason }: Decision): string {
  switch (reason) {
    case 'malformed_path':
      return 'malformed_path';
    case 'store_failure':
      return 'rate_limit_unavailable';
    default:
      return 'rate_limit_exceeded';
  }
}

function messageFor({ reason, policy, binding }: Decision, retryAfterSeconds: number): string {
  if (reason === 'malformed_path') return 'The request path holds control characters.';
  const retry = `Try again in ${retryAfterSeconds} second${retryAfterSeconds === 1 ? '' : 's'}.`;
  if (binding === undefined) {
    return `Policy ${policy} lets nothing through that it cannot count, and just now it cannot. ${retry}`;
  }
  return `Policy ${policy} allows ${binding.limit.description}. ${retry}`;
}
