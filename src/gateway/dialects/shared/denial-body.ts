/** What a denial says in its body. */
import type { AnswerStyle } from '../../core/answer-style.ts';
import { filled } from '../../core/answer-template.ts';
import type { Decision } from '../../core/counting/decision.ts';
import { isHidden } from './limit-headers.ts';
import { REFUSALS } from './refusals.ts';
import type { Wait } from './retry.ts';

export function contentType({ body }: AnswerStyle): string {
  return body === 'problem+json' ? 'application/problem+json' : 'application/json';
}

export interface DenialTerms {
  readonly style: AnswerStyle;
  readonly status: number;
  /** Undefined if no wait helps. */
  readonly wait: Wait | undefined;
}

/** Ends with a line break, so that a terminal's prompt starts on a new line. */
export function denialBody(decision: Decision, terms: DenialTerms): string {
  const { style } = terms;
  const json = JSON.stringify(BODIES[style.body](factsOf(decision, terms)));
  // NGINX gets the body in a header.
  return style.text === undefined ? `${json}\n` : `${json.replaceAll(BEYOND_ASCII, escaped)}\n`;
}

const BEYOND_ASCII = /[^ -~]/g;

function escaped(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
}

/** HTML in place of the body. Undefined if there is no page for this denial. */
export function denialPage(decision: Decision, terms: DenialTerms): string | undefined {
  const { page: own } = terms.style;
  const page = own && filled(own, valuesOf(decision, terms), asHtml);
  return page && `${page}\n`;
}

function asHtml(value: string): string {
  return value.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}

function valuesOf(decision: Decision, terms: DenialTerms) {
  const { wait } = terms;
  const policy = shownPolicy(decision, terms);
  return { seconds: wait?.seconds, policy, id: decision.denial?.id ?? '' };
}

type Facts = ReturnType<typeof factsOf>;

/** What the bodies tell, each in its own form. JSON leaves out what is undefined. */
function factsOf(decision: Decision, terms: DenialTerms) {
  const { reason, denial } = decision;
  const { style, status, wait } = terms;
  const refusal = REFUSALS[reason];
  return {
    ...{ decision, refusal, style, status },
    code: codeOf(decision),
    message: refusal?.message ?? messageOf(decision, terms),
    policy: shownPolicy(decision, terms),
    wait: refusal ? undefined : wait,
    ids: { decision_id: denial?.id, trace_id: denial?.traceId },
  };
}

const BODIES: Readonly<Record<AnswerStyle['body'], (facts: Facts) => object>> = {
  json: ({ code, message, policy, wait, ids }) => ({
    error: code,
    message,
    policy,
    retry_after: wait?.seconds,
    ...ids,
  }),
  'problem+json': ({ decision, refusal, status, message, policy, wait, ids }) => ({
    type: decision.reason === 'over_limit' ? QUOTA_EXCEEDED : 'about:blank',
    title: refusal?.title ?? 'Too Many Requests',
    status,
    detail: message,
    'violated-policies': policy && [policy],
    retry_after: wait?.seconds,
    ...ids,
  }),
  'json-rpc': ({ refusal, style, message, policy, wait, ids }) => ({
    jsonrpc: '2.0',
    // The request's id is in its body, which proxies do not send. Some clients lose the message if there is no id at all.
    id: null,
    error: {
      code: refusal?.jsonRpcCode ?? style.jsonRpcCode ?? RATE_LIMITED,
      message,
      data: { retryAfterMs: wait?.ms, policy, ...ids },
    },
  }),
  openai: ({ decision, refusal, code, message, ids }) => ({
    error: { message, type: refusal?.openAiType ?? unitOf(decision), param: null, code, ...ids },
  }),
};

/** From draft-ietf-httpapi-ratelimit-headers-10, section 7. `about:blank` is from RFC 9457, section 4.2.1. */
const QUOTA_EXCEEDED = 'https://iana.org/assignments/http-problem-types#quota-exceeded';

/** The code of JSON-RPC that SEP-3304 proposes for rate limits of MCP. */
const RATE_LIMITED = -32_023;

function codeOf({ reason }: Decision): string {
  if (REFUSALS[reason] !== undefined) return reason;
  return reason === 'store_failure' ? 'rate_limit_unavailable' : 'rate_limit_exceeded';
}

/** OpenAI says `requests` or `tokens`, also of a request that is larger than the whole limit. */
function unitOf({ binding }: Decision): string {
  return binding === undefined ? 'server_error' : (binding.limit.afterwards?.unit ?? 'requests');
}

/** Undefined if clients must not learn it. */
function shownPolicy(decision: Decision, { style }: DenialTerms): string | undefined {
  const isOwn = REFUSALS[decision.reason] === undefined && !isHidden(decision, style);
  return isOwn ? decision.policy : undefined;
}

function messageOf(decision: Decision, terms: DenialTerms): string {
  const { style, wait } = terms;
  const own = style.text && filled(style.text, valuesOf(decision, terms), (value) => value);
  return own ?? whenAllowed(decision, style, wait);
}

function whenAllowed(decision: Decision, style: AnswerStyle, wait: Wait | undefined): string {
  const { policy, binding } = decision;
  const retry =
    wait === undefined
      ? 'It never allows this request.'
      : `Try again in ${wait.seconds} second${wait.seconds === 1 ? '' : 's'}.`;
  if (binding === undefined) return `Rate limiting is temporarily unavailable. ${retry}`;
  if (!isHidden(decision, style))
    return `Policy ${policy} allows ${binding.limit.description}. ${retry}`;
  return wait === undefined ? 'This request is never allowed.' : `Too many requests. ${retry}`;
}
