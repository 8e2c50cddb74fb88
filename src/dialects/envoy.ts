/**
 * Envoy, `ext_authz` in HTTP mode, and what is built on it (Istio, Envoy Gateway, Contour).
 *
 * Envoy sends the client's own method and, behind `path_prefix`, its own target; `Host` is the original authority.
 * Exactly 200 allows. Every status below 500 is a denial that the client sees as it is; 5xx is "the gateway failed".
 */
import { type CheckRequest, singleValue } from '../core/check-request.ts';
import type { Dialect, ProxyCall } from '../core/dialect.ts';
import { renderer } from './shared/answer.ts';
import { NOTHING_MISSING } from './shared/forwarded-request.ts';

export const envoy: Dialect = {
  name: 'envoy',
  mount: '/envoy',
  hasProxyConfig: true,
  badRequest: 400,
  parse,
  render: renderer(400),
};

/** Set by Envoy with `authorization_request.headers_to_add`, which overwrites what the client sent. */
const PEER_ADDRESS = 'x-headgate-peer-ip';
const CLIENT_ADDRESS = 'x-headgate-client-ip';
/** Likewise: what Envoy itself made up for this request. */
const REQUEST_ID = 'x-headgate-request-id';
const ADDRESS_HEADERS = [PEER_ADDRESS, CLIENT_ADDRESS, 'x-forwarded-for', 'forwarded'];

function parse({ method, target, headers, remoteAddress }: ProxyCall): CheckRequest {
  return {
    method,
    host: headers.host?.toString() ?? '',
    target: target === '' ? '/' : target,
    headers,
    addresses: {
      proxy: remoteAddress,
      peer: singleValue(headers, PEER_ADDRESS),
      client: singleValue(headers, CLIENT_ADDRESS),
      forwardedFor: headers['x-forwarded-for']?.toString(),
      forwarded: headers.forwarded?.toString(),
      headers: ADDRESS_HEADERS,
    },
    policy: undefined,
    requestId: singleValue(headers, REQUEST_ID),
    // The request line is all that Envoy must send; without the address headers its clients share its own address.
    missing: NOTHING_MISSING,
  };
}
