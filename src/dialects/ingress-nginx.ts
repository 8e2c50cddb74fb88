/**
 * ingress-nginx, `auth-url`.
 *
 * The controller writes the NGINX configuration: a GET with all of the client's headers and some that it overwrites.
 * Whatever is not 2xx, 401 or 403 becomes a 500, and there is nothing to map a 429 with unless snippets are allowed. So
 * a denial is a 403 that says in a header what it would be; with the snippets of `deploy/ingress-nginx` it is that again.
 */
import type { CheckRequest } from '../core/check-request.ts';
import type { Decision } from '../core/decision.ts';
import type { Answer, Dialect, ProxyCall } from '../core/dialect.ts';
import type { AnswerStyle } from '../core/policy-set.ts';
import { answer } from './shared/answer.ts';
import { questionParser } from './shared/forwarded-request.ts';

const METHOD = 'x-original-method';
/** `$scheme://$http_host$request_uri`. A client may send X-Original-URI, which is not read here. */
const URL = 'x-original-url';
/** `$remote_addr`: who connected, or what the realip module made of it. */
const ADDRESS = 'x-real-ip';

const parseQuestion = questionParser({
  method: METHOD,
  target: URL,
  peer: ADDRESS,
  requiredAddress: ADDRESS,
});

export const ingressNginx: Dialect = {
  name: 'ingress-nginx',
  mount: '/ingress-nginx',
  hasProxyConfig: false,
  badRequest: 403,
  parse,
  render,
};

function parse(call: ProxyCall): CheckRequest {
  const question = parseQuestion(call);
  const { target: url } = question;
  // NGINX lets no slash into a host, but a question mark: what follows the first slash is the client's target.
  const host = url.indexOf('://') + 3;
  const path = url.indexOf('/', host);
  return host < 3 || path === -1
    ? { ...question, target: '/', missing: [...new Set([...question.missing, URL])] }
    : { ...question, host: url.slice(host, path), target: url.slice(path) };
}

function render(decision: Decision, style: AnswerStyle): Answer {
  const { status, headers, body } = answer(decision, style, ingressNginx.badRequest);
  if (decision.verdict === 'allow') return { status, headers, body };
  headers.push('X-RateLimit-Status', String(status), 'X-Headgate-Body', body.trimEnd());
  return { status: 403, headers, body };
}
