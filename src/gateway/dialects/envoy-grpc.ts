/**
 * Envoy, `ext_authz` in gRPC mode, and what is built on it (Envoy Gateway, Contour, Istio). In this mode the gateway can
 * have Envoy overwrite headers of the application's response, which HTTP mode cannot.
 */
import type { AnswerStyle } from '../core/answer-style.ts';
import type { CheckRequest, HeaderFields } from '../core/check-request.ts';
import type { Decision } from '../core/counting/decision.ts';
import { singleValue } from '../core/identity/header-value.ts';
import { type EnvoyAnswer, readCheckRequest, writeCheckResponse } from './messages/ext-authz.ts';
import { filterMetadata } from './messages/filter-metadata.ts';
import { answer, SETTLE_HEADER } from './shared/answer.ts';
import { addressHeaders, NOTHING_MISSING } from './shared/forward-auth.ts';
import { RESOURCE_EXHAUSTED, withGrpcStatus } from './shared/grpc-status.ts';

const BAD_REQUEST = 400;

/** Codes of gRPC (google/rpc/code.proto). Envoy only distinguishes 0 from the rest. */
const OK = 0;
const PERMISSION_DENIED = 7;

/** The peer's address is a field of the message. */
const REPORTED_IN = addressHeaders();
/** `context_extensions: { policy: login }` names the policy of a route. */
const POLICY = 'policy';
/**
 * `context_extensions: { request_id: x-request-id }` names the header whose value Envoy generates for each request. Envoy
 * overwrites every client's value only with `use_remote_address` and without internal addresses, so the file must say it.
 */
const REQUEST_ID = 'request_id';

/** Returns undefined for a check that is not about an HTTP request. Throws MalformedMessage. */
function parse(
  message: Buffer,
  remoteAddress: string,
  metadata: HeaderFields,
): CheckRequest | undefined {
  const check = readCheckRequest(message);
  const { method, host, path, headers, peer, contextExtensions } = check;
  // A trace that Envoy began itself is in the metadata only.
  const { traceparent } = metadata;
  if (typeof traceparent === 'string') headers.traceparent = traceparent;
  if (method === '') return undefined;
  const requestIdHeader = contextExtensions[REQUEST_ID]?.toLowerCase();
  return {
    method,
    host,
    // A CONNECT request has no path.
    target: path === '' ? '/' : path,
    headers,
    addresses: {
      proxy: remoteAddress,
      peer,
      client: undefined,
      forwardedFor: headers['x-forwarded-for'],
      forwarded: headers.forwarded,
      headers: REPORTED_IN,
    },
    policy: contextExtensions[POLICY],
    requestId: requestIdHeader === undefined ? undefined : singleValue(headers, requestIdHeader),
    estimates: check.estimates,
    metadata: check.hasFilterMetadata ? filterMetadata(message) : undefined,
    missing: NOTHING_MISSING,
  };
}

function render(decision: Decision, style: AnswerStyle, sent?: HeaderFields): EnvoyAnswer {
  const rendered = answer(decision, { style, sent, badRequest: BAD_REQUEST });
  const { status, headers, body } = withGrpcStatus(rendered, sent);
  if (decision.verdict === 'allow') {
    const { settleToken } = decision;
    // The application decides whether its response may be cached, and the client gets no token.
    const shown = without('Cache-Control', headers);
    const own = settleToken === undefined ? shown : without(SETTLE_HEADER, shown);
    return { code: OK, status, headers: own, settleToken, body };
  }
  const code = status === 429 ? RESOURCE_EXHAUSTED : PERMISSION_DENIED;
  return { code, status, headers, body };
}

function without(name: string, headers: readonly string[]): readonly string[] {
  const at = headers.indexOf(name);
  return at === -1 ? headers : headers.toSpliced(at, 2);
}

export const envoyGrpc = {
  name: 'envoy-grpc',
  hasProxyConfig: true,
  parse,
  render,
  write: writeCheckResponse,
  unauthorized: {
    code: PERMISSION_DENIED,
    status: 403,
    headers: ['Content-Type', 'application/json'],
    body: '{"error":"forbidden","message":"The proxy secret is missing or wrong."}',
  },
};
