/**
 * Apache APISIX, `forward-auth`.
 *
 * APISIX sends a GET to the gateway's own path, with X-Forwarded-* headers that it sets itself and the client's headers
 * that `request_headers` lists. Below 300 lets the request through. Any other answer goes to the client with its body and
 * the headers that `client_headers` lists.
 */
import { forwardAuth } from './shared/forward-auth.ts';

/** `$realip_remote_addr`, set by our file with `extra_headers`. */
const PEER_ADDRESS = 'x-headgate-peer-ip';

export const apisix = forwardAuth({
  name: 'apisix',
  hasProxyConfig: false,
  badRequest: 400,
  headers: {
    method: 'x-forwarded-method',
    /** Our file has APISIX send the client's own target. By itself it sends a decoded one, which cannot be trusted. */
    target: 'x-forwarded-uri',
    host: 'x-forwarded-host',
    peer: PEER_ADDRESS,
    /** `$remote_addr` alone: the peer, or what the real-ip settings replaced it by. A client's own list is lost. */
    client: 'x-forwarded-for',
    requiredAddress: PEER_ADDRESS,
  },
});
