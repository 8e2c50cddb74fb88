/**
 * NGINX, `auth_request`.
 *
 * The subrequest is a GET (or a HEAD, with `proxy_method HEAD`) of the gateway's own path. Headers say what the client
 * requested. NGINX passes on 2xx, 401 and 403, and turns every other status into a 500, so `deploy/nginx` maps our 429
 * with `error_page`. NGINX drops the body of the answer but keeps header values, so a denial also has its body in a header.
 */

import type { AnswerStyle } from '../core/answer-style.ts';
import type { HeaderFields } from '../core/check-request.ts';
import type { Decision } from '../core/counting/decision.ts';
import type { Answer, Dialect } from '../core/dialect.ts';
import { answer } from './shared/answer.ts';
import { forwardAuth } from './shared/forward-auth.ts';

/** NGINX would turn a 400 into a 500. */
const BAD_REQUEST = 403;
/** `$remote_addr`: the peer, or what the realip module replaced it by. */
const CLIENT_ADDRESS = 'x-real-ip';

export const nginx: Dialect = {
  ...forwardAuth({
    name: 'nginx',
    hasProxyConfig: true,
    badRequest: BAD_REQUEST,
    headers: {
      method: 'x-original-method',
      target: 'x-original-uri',
      /** `$realip_remote_addr` */
      peer: 'x-headgate-peer-ip',
      client: CLIENT_ADDRESS,
      requiredAddress: CLIENT_ADDRESS,
      /** `$request_id`. It stays the same if NGINX sends the check of a request again. */
      requestId: 'x-headgate-request-id',
    },
  }),
  render,
};

function render(decision: Decision, style: AnswerStyle, sent?: HeaderFields): Answer {
  const rendered = answer(decision, { style, sent, badRequest: BAD_REQUEST });
  if (decision.verdict === 'deny')
    rendered.headers.push('X-Headgate-Body', rendered.body.trimEnd());
  return rendered;
}
