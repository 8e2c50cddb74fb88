/** The body of a denial: what happened, which policy applied, and when to retry. */
import type { Decision } from '../../core/counting/decision.ts';
import type { AnswerStyle } from '../../core/matching/policy-set.ts';

const CONTENT_TYPES = { json: 'application/json', 'problem+json': 'application/problem+json' };

/** From draft-ietf-httpapi-ratelimit-headers-10, section 7. `about:blank` is from RFC 9457, section 4.2.1. */
const QUOTA_EXCEEDED = 'https://iana.org/assignments/http-problem-types#quota-exceeded';

export function contentType(style: AnswerStyle): string {
  return CONTENT_TYPES[style.body];
}

export function denialBody(
  decision: Decision,
  style: AnswerStyle,
  { status, retryAfterSeconds }: { status: number; retryAfterSeconds: number | undefined },
): string {
  const refusal = REFUSALS[decision.reason];
  const message = refusal?.message ?? whenAllowed(decision, retryAfterSeconds);
  // JSON leaves out what is undefined.
  const retry = refusal === undefined ? { retry_after: retryAfterSeconds } : {};
  const ids = idsOf(decision);
  if (style.body === 'json') {
    const policy = refusal === undefined ? { policy: decision.policy } : {};
    const error = refusal?.error ?? errorCode(decision);
    return line({ error, message, ...policy, ...retry, ...ids });
  }
  const policies = refusal === undefined ? { 'violated-policies': [decision.policy] } : {};
  return line({
    type: decision.reason === 'over_limit' ? QUOTA_EXCEEDED : 'about:blank',
    title: refusal?.title ?? 'Too Many Requests',
    status,
    detail: message,
    ...policies,
    ...retry,
    ...ids,
  });
}

function idsOf({ denial }: Decision) {
  if (denial === undefined) return {};
  const { id, traceId } = denial;
  return traceId === undefined ? { decision_id: id } : { decision_id: id, trace_id: traceId };
}

/** Ends with a line break, so that a terminal's prompt starts on a new line. */
function line(fields: object): string {
  return `${JSON.stringify(fields)}\n`;
}

/** Denials that a retry does not change. */
const REFUSALS: Partial<
  Record<Decision['reason'], { error: string; title: string; message: string }>
> = {
  malformed_path: {
    error: 'malformed_path',
    title: 'Bad Request',
    message: 'The request path contains control characters or is ambiguous.',
  },
  malformed_host: {
    error: 'malformed_host',
    title: 'Bad Request',
    message: 'The host is not a name or address with an optional port.',
  },
  ambiguous_identity: {
    error: 'ambiguous_identity',
    title: 'Bad Request',
    message:
      'A header that identifies the client has several values, blanks around its value, or more than 8,192 bytes.',
  },
  blocked: { error: 'blocked', title: 'Forbidden', message: 'This client is blocked.' },
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
