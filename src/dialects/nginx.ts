/**
 * NGINX, `auth_request`.
 *
 * The subrequest is a GET (or, with `proxy_method HEAD`, a HEAD) of the gateway's own path: what the client asked for
 * arrives in headers. NGINX lets 2xx, 401 and 403 through and turns everything else into a 500, so `deploy/nginx` maps
 * our 429 with `error_page`. It never forwards the body of the answer, but it does keep header values.
 */
import type { Decision } from '../core/decision.ts';
import type { Answer, Dialect } from '../core/dialect.ts';
import type { AnswerStyle } from '../core/policy-set.ts';
import { answer } from './shared/answer.ts';
import { questionParser } from './shared/forwarded-request.ts';

const METHOD = 'x-original-method';
const TARGET = 'x-original-uri';
/** `$remote_addr`: after the realip module, if that is in use. */
const CLIENT_ADDRESS = 'x-real-ip';
/** `$realip_remote_addr`: who connected. */
const PEER_ADDRESS = 'x-headgate-peer-ip';
/** `$request_id`, the same for the redirects within NGINX, each of which asks again. */
const REQUEST_ID = 'x-headgate-request-id';

const parse = questionParser({
  method: METHOD,
  target: TARGET,
  peer: PEER_ADDRESS,
  client: CLIENT_ADDRESS,
  requiredAddress: CLIENT_ADDRESS,
  requestId: REQUEST_ID,
});

/** 400 would reach the client as a 500. */
export const nginx: Dialect = {
  name: 'nginx',
  mount: '/nginx',
  hasProxyConfig: true,
  badRequest: 403,
  parse,
  render,
};

function render(decision: Decision, style: AnswerStyle): Answer {
  const rendered = answer(decision, style, nginx.badRequest);
  if (decision.verdict === 'deny')
    rendered.headers.push('X-Headgate-Body', rendered.body.trimEnd());
  return rendered;
}
