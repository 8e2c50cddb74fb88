/** The answer for most proxies. A dialect changes what its proxy cannot use. */
import type { AnswerStyle } from '../../core/answer-style.ts';
import type { HeaderFields } from '../../core/check-request.ts';
import type { Decision } from '../../core/counting/decision.ts';
import type { Answer, Dialect } from '../../core/dialect.ts';
import { addCors } from './cors.ts';
import { contentType, type DenialTerms, denialBody, denialPage } from './denial-body.ts';
import { isHidden, limitHeaders } from './limit-headers.ts';
import { REFUSALS } from './refusals.ts';
import { retryHints, waitAfter } from './retry.ts';
import { wantsHtml } from './wants-html.ts';

/** It is for the application: proxies must not pass it on to clients. */
export const SETTLE_HEADER = 'X-Headgate-Settle';

/**
 * Allow is exactly 200 with an empty body, because Envoy treats 204 as a denial. Deny is 429, even if nothing could be
 * counted, because a proxy that fails open treats 5xx as an allow. A blocked client gets 403: waiting does not help.
 */
export function answer(decision: Decision, { style, sent, badRequest }: Answering): Answer {
  const headers = limitHeaders(decision, style);
  if (decision.verdict === 'allow') {
    if (decision.settleToken !== undefined) headers.push(SETTLE_HEADER, decision.settleToken);
    return { status: 200, headers, body: '' };
  }
  const status = statusOf(decision, badRequest);
  const wait = status === 429 ? waitAfter(decision, style) : undefined;
  if (status === 429) {
    if (wait !== undefined) headers.push('Retry-After', String(wait.seconds));
    if (style.body === 'openai' || style.headers === 'openai') headers.push(...retryHints(wait));
    if (!isHidden(decision, style)) headers.push('X-RateLimit-Policy', decision.policy);
  }
  if (decision.denial !== undefined) headers.push('X-RateLimit-Decision-Id', decision.denial.id);
  if (style.page !== undefined) headers.push('Vary', 'Accept');
  const { type, body } = contentOf(decision, { style, status, wait }, sent);
  headers.push('Content-Type', type);
  addCors(headers, style, sent);
  return { status, headers, body };
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

function contentOf(decision: Decision, terms: DenialTerms, sent: HeaderFields | undefined) {
  const { style, status } = terms;
  const isForBrowser = style.page && status === 429 && wantsHtml(sent?.accept?.toString() ?? '');
  const page = isForBrowser ? denialPage(decision, terms) : undefined;
  return page === undefined
    ? { type: contentType(style), body: denialBody(decision, terms) }
    : { type: 'text/html; charset=utf-8', body: page };
}
