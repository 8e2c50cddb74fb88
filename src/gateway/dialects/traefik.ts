/**
 * Traefik, `ForwardAuth`.
 *
 * Traefik sends a GET to the gateway's own path with the client's headers, or with those that `authRequestHeaders`
 * lists. It overwrites X-Forwarded-* (`trustForwardHeader: false`) or extends them (`true`). 2xx lets the request
 * through and gives the client no header of the answer. Any other answer goes to the client unchanged.
 */
import type { HeaderFields } from '../core/check-request.ts';
import { forwardAuth } from './shared/forward-auth.ts';

/** The list ends with the peer, after what Traefik keeps of the client's own list. */
const ADDRESSES = 'x-forwarded-for';

export const traefik = forwardAuth({
  name: 'traefik',
  hasProxyConfig: true,
  badRequest: 400,
  headers: {
    method: 'x-forwarded-method',
    /** Traefik normalised it, and earlier middlewares may have changed it. */
    target: 'x-forwarded-uri',
    /** `Host` is the gateway's own. */
    host: 'x-forwarded-host',
    peer: ADDRESSES,
    requiredAddress: ADDRESSES,
  },
  readPeer: lastOfList,
});

function lastOfList(headers: HeaderFields, name: string): string | undefined {
  const value = headers[name]?.toString() ?? '';
  return value.slice(value.lastIndexOf(',') + 1).trim() || undefined;
}
