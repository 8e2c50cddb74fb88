/**
 * Caddy, `forward_auth`.
 *
 * A GET of the gateway's own path with all of the client's headers, and what Caddy knows in headers that it overwrites.
 * 2xx lets the request through; any other answer goes to the client as it is, headers and body.
 */
import type { Dialect } from '../core/dialect.ts';
import { renderer } from './shared/answer.ts';
import { questionParser } from './shared/forwarded-request.ts';

const METHOD = 'x-forwarded-method';
/** Without `handle_path` and its like: the URI that the client sent. */
const TARGET = 'x-forwarded-uri';
/**
 * `{http.request.remote.host}`: who connected. Set by our Caddyfile, not by Caddy. Its X-Forwarded-For has the peer and,
 * before it, what the client sent if Caddy's own `trusted_proxies` names the peer.
 */
const PEER_ADDRESS = 'x-headgate-peer-ip';

const parse = questionParser({
  method: METHOD,
  target: TARGET,
  peer: PEER_ADDRESS,
  requiredAddress: PEER_ADDRESS,
});

export const caddy: Dialect = {
  name: 'caddy',
  mount: '/caddy',
  hasProxyConfig: true,
  badRequest: 400,
  parse,
  render: renderer(400),
};
