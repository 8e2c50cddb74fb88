/**
 * HAProxy, through the Lua action of `deploy/haproxy`.
 *
 * The action sends a GET to the gateway's own path, and sets every header of that request itself. It passes a denial to
 * the client unchanged, and adds the headers of an allow to the application's response.
 */
import { forwardAuth } from './shared/forward-auth.ts';

const PEER_ADDRESS = 'x-headgate-peer-ip';

export const haproxy = forwardAuth({
  name: 'haproxy',
  hasProxyConfig: true,
  badRequest: 400,
  headers: {
    method: 'x-original-method',
    target: 'x-original-uri',
    peer: PEER_ADDRESS,
    /** `src`: the peer, or what `http-request set-src` replaced it by. */
    client: 'x-headgate-client-ip',
    requiredAddress: PEER_ADDRESS,
  },
});
