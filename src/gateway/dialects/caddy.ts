/**
 * Caddy, `forward_auth`.
 *
 * Caddy sends a GET to the gateway's own path, with all headers of the client. It overwrites the headers read here.
 * 2xx lets the request through. Any other answer goes to the client with its headers and body.
 */
import { forwardAuth } from './shared/forward-auth.ts';

/** `{http.request.remote.host}`, set by our Caddyfile. Caddy's X-Forwarded-For may begin with the client's own list. */
const PEER_ADDRESS = 'x-headgate-peer-ip';

export const caddy = forwardAuth({
  name: 'caddy',
  hasProxyConfig: true,
  badRequest: 400,
  headers: {
    method: 'x-forwarded-method',
    /**
     * `import headgate` sets it to the URI that the client sent, because Caddy's own value lacks a prefix that
     * `handle_path` removed. `import headgate_rewritten` leaves Caddy's value, and sends the client's beside it.
     */
    target: 'x-forwarded-uri',
    sentTarget: 'x-headgate-original-uri',
    peer: PEER_ADDRESS,
    requiredAddress: PEER_ADDRESS,
  },
});
