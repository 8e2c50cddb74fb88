/**
 * ingress-nginx, `auth-url`.
 *
 * The controller writes the NGINX configuration: a GET with all headers of the client, some of them overwritten. Every
 * status other than 2xx, 401 and 403 becomes a 500, and only snippets can map a 429. So a denial is a 403 whose headers
 * have the real status and body; the snippets of `deploy/ingress-nginx` restore both.
 */
import type { CheckRequest } from '../core/check-request.ts';
import type { Dialect, ProxyCall } from '../core/dialect.ts';
import { forwardAuth } from './shared/forward-auth.ts';

/** `$scheme://$http_host$request_uri`. Clients can send X-Original-URI, which is not read. */
const URL = 'x-original-url';
/** `$remote_addr`: the peer, or what the realip module replaced it by. */
const ADDRESS = 'x-real-ip';

const plain = forwardAuth({
  name: 'ingress-nginx',
  hasProxyConfig: false,
  badRequest: 403,
  headers: { method: 'x-original-method', target: URL, peer: ADDRESS, requiredAddress: ADDRESS },
});

export const ingressNginx: Dialect = {
  ...plain,
  parse,
  render(decision, style, sent) {
    const answer = plain.render(decision, style, sent);
    const { status, headers, body } = answer;
    if (status === 200) return answer;
    headers.push('X-RateLimit-Status', String(status), 'X-Headgate-Body', body.trimEnd());
    return { status: 403, headers, body };
  },
};

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
