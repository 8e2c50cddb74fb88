/**
 * NGINX, `auth_request`.
 *
 * The subrequest is a GET (or a HEAD, with `proxy_method HEAD`) of the gateway's own path. Headers say what the client
 * requested. NGINX passes on 2xx, 401 and 403, and turns every other status into a 500, so `deploy/nginx` maps our 429
 * with `error_page`. NGINX drops the body of the answer but keeps header values, so a denial also has its body in a header.
 */
import type { Dialect } from '../core/dialect.ts';
import { forwardAuth } from './shared/forward-auth.ts';

/** `$remote_addr`: the peer, or what the realip module replaced it by. */
const CLIENT_ADDRESS = 'x-real-ip';

const plain = forwardAuth({
  name: 'nginx',
  hasProxyConfig: true,
  /** NGINX would turn a 400 into a 500. */
  badRequest: 403,
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
});

export const nginx: Dialect = {
  ...plain,
  render(decision, style, sent) {
    const answer = plain.render(decision, style, sent);
    if (answer.status !== 200) answer.headers.push('X-Headgate-Body', answer.body.trimEnd());
    return answer;
  },
};
