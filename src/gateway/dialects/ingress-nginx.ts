/**
 * ingress-nginx, `auth-url`.
 *
 * The controller writes the NGINX configuration: a GET with all headers of the client, some of them overwritten. Every
 * status other than 2xx, 401 and 403 becomes a 500, and only snippets can map a 429. So a denial is a 403 whose headers
 * have the real status and body; the snippets of `deploy/ingress-nginx` restore both.
 */

import type { AnswerStyle } from '../core/answer-style.ts';
import type { CheckRequest, HeaderFields } from '../core/check-request.ts';
import type { Decision } from '../core/counting/decision.ts';
import type { Answer, Dialect, ProxyCall } from '../core/dialect.ts';
import { answer } from './shared/answer.ts';
import { forwardAuth } from './shared/forward-auth.ts';

const BAD_REQUEST = 403;
/** `$scheme://$http_host$request_uri`. Clients can send X-Original-URI, which is not read. */
const URL = 'x-original-url';
/** `$remote_addr`: the peer, or what the realip module replaced it by. */
const ADDRESS = 'x-real-ip';

const plain = forwardAuth({
  name: 'ingress-nginx',
  hasProxyConfig: false,
  badRequest: BAD_REQUEST,
  headers: { method: 'x-original-method', target: URL, peer: ADDRESS, requiredAddress: ADDRESS },
});

export const ingressNginx: Dialect = { ...plain, parse, render };

function parse(call: ProxyCall): CheckRequest {
  const request = plain.parse(call);
  const { target: url } = request;
  // NGINX refuses a slash in a host but takes a question mark: the target begins at the first slash.
  const host = url.indexOf('://') + 3;
  const path = url.indexOf('/', host);
  return host < 3 || path === -1
    ? { ...request, target: '/', missing: [...new Set([...request.missing, URL])] }
    : { ...request, host: url.slice(host, path), target: url.slice(path) };
}

function render(decision: Decision, style: AnswerStyle, sent?: HeaderFields): Answer {
  const { status, headers, body } = answer(decision, { style, sent, badRequest: BAD_REQUEST });
  if (decision.verdict === 'allow') return { status, headers, body };
  headers.push('X-RateLimit-Status', String(status), 'X-Headgate-Body', body.trimEnd());
  return { status: 403, headers, body };
}
