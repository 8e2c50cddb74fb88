/**
 * Envoy, `ext_authz` in HTTP mode, and what is built on it (Istio, Envoy Gateway, Contour).
 *
 * Envoy sends the client's own method and, after `path_prefix`, its own target. `Host` is the client's. Exactly 200
 * allows. Every other status below 500 is a denial that the client gets unchanged. 5xx means that the gateway failed.
 */
import type { CheckRequest } from '../core/check-request.ts';
import type { Dialect, ProxyCall } from '../core/dialect.ts';
import { singleValue } from '../core/identity/header-value.ts';
import { answer } from './shared/answer.ts';
import { addressHeaders, NOTHING_MISSING } from './shared/forward-auth.ts';
import { withGrpcStatus } from './shared/grpc-status.ts';

/** Envoy sets these with `authorization_request.headers_to_add`, which overwrites what the client sent. */
const PEER_ADDRESS = 'x-headgate-peer-ip';
const CLIENT_ADDRESS = 'x-headgate-client-ip';
/** Set in the same way: the id that Envoy generated for this request. */
const REQUEST_ID = 'x-headgate-request-id';

const BAD_REQUEST = 400;
const REPORTED_IN = addressHeaders(PEER_ADDRESS, CLIENT_ADDRESS);

export const envoy: Dialect = {
  name: 'envoy',
  mount: '/envoy',
  hasProxyConfig: true,
  badRequest: BAD_REQUEST,
  parse,
  render: (decision, style, sent) =>
    withGrpcStatus(answer(decision, { style, sent, badRequest: BAD_REQUEST }), sent),
};

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
      headers: REPORTED_IN,
    },
    policy: undefined,
    requestId: singleValue(headers, REQUEST_ID),
    // Only the request line is required. Without the address headers, all clients of one Envoy share its address.
    missing: NOTHING_MISSING,
  };
}
