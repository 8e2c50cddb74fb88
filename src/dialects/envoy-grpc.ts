/**
 * Envoy, `ext_authz` in gRPC mode, and what is built on it (Envoy Gateway, Contour, Istio).
 *
 * One message describes the request, another the decision; `proto/authorization.proto` has their fields. In this mode
 * the gateway can have Envoy overwrite headers of the application's response, which HTTP mode cannot.
 */
import { type CheckRequest, type HeaderFields, singleValue } from '../core/check-request.ts';
import type { Decision } from '../core/decision.ts';
import type { AnswerStyle } from '../core/policy-set.ts';
import { addressHeaders, withForwardedLists } from './shared/addresses.ts';
import { answer } from './shared/answer.ts';
import { NOTHING_MISSING } from './shared/missing.ts';

/** The status for requests that no honest client sends. */
const BAD_REQUEST = 400;

/** Envoy's `CheckRequest`. Fields that were not sent are undefined. */
export interface EnvoyCheckRequest {
  readonly attributes?: {
    readonly source?: { readonly address?: { readonly socket_address?: { address?: string } } };
    readonly request?: { readonly http?: HttpRequest };
    readonly context_extensions?: Readonly<Record<string, string>>;
  };
}

interface HttpRequest {
  readonly method?: string;
  readonly path?: string;
  readonly host?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly header_map?: { readonly headers?: readonly HeaderValue[] };
}

interface HeaderValue {
  readonly key?: string;
  readonly value?: string;
  readonly raw_value?: Uint8Array;
}

/** Envoy's `CheckResponse`. */
export interface EnvoyCheckResponse {
  readonly status: { readonly code: number };
  readonly ok_response?: { readonly response_headers_to_add: readonly HeaderValueOption[] };
  readonly denied_response?: {
    readonly status: { readonly code: number };
    readonly headers: readonly HeaderValueOption[];
    readonly body: string;
  };
}

interface HeaderValueOption {
  readonly header: { readonly key: string; readonly value: string };
  readonly append_action?: typeof OVERWRITE;
}

/** OVERWRITE_IF_EXISTS_OR_ADD. By default Envoy adds a second value to the application's. */
const OVERWRITE = 2;
/** gRPC codes (google/rpc/code.proto). Envoy only distinguishes 0 from the rest. */
const OK = 0;
const PERMISSION_DENIED = 7;
const RESOURCE_EXHAUSTED = 8;

/** The peer's address is a field of the message. */
const REPORTED_IN = addressHeaders();
/** `context_extensions: { policy: login }` names the policy of a route. */
const POLICY = 'policy';
/**
 * `context_extensions: { request_id: x-request-id }` names the header whose value Envoy generates for each request. Envoy
 * overwrites every client's value only with `use_remote_address` and without internal addresses, so the file must say it.
 */
const REQUEST_ID = 'request_id';

function isAboutHttp({ attributes }: EnvoyCheckRequest): boolean {
  return Boolean(attributes?.request?.http?.method);
}

function parse({ attributes }: EnvoyCheckRequest, remoteAddress: string): CheckRequest {
  const http = attributes?.request?.http ?? {};
  const extensions = attributes?.context_extensions ?? {};
  const headers = headersOf(http);
  const requestIdHeader = extensions[REQUEST_ID]?.toLowerCase();
  return {
    method: http.method ?? '',
    host: http.host ?? '',
    // A CONNECT request has no path.
    target: asBytes(http.path || '/'),
    headers,
    addresses: withForwardedLists(
      {
        proxy: remoteAddress,
        peer: attributes?.source?.address?.socket_address?.address,
        client: undefined,
        headers: REPORTED_IN,
      },
      headers,
    ),
    policy: extensions[POLICY],
    requestId: requestIdHeader === undefined ? undefined : singleValue(headers, requestIdHeader),
    missing: NOTHING_MISSING,
  };
}

function headersOf({ headers = {}, header_map }: HttpRequest): HeaderFields {
  const found: Record<string, string> = Object.create(null);
  for (const name in headers) found[name] = asBytes(headers[name] ?? '');
  for (const { key = '', value = '', raw_value } of header_map?.headers ?? []) {
    const text =
      raw_value === undefined ? asBytes(value) : Buffer.from(raw_value).toString('latin1');
    // The other map joins repeated headers with a comma, too.
    found[key] = found[key] === undefined ? text : `${found[key]},${text}`;
  }
  return found;
}

const BEYOND_ASCII = /[^\0-\x7f]/;

/** One character for each byte, as Node reads headers: an API key is the same text over HTTP and gRPC. */
function asBytes(text: string): string {
  return BEYOND_ASCII.test(text) ? Buffer.from(text, 'utf8').toString('latin1') : text;
}

function render(decision: Decision, style: AnswerStyle): EnvoyCheckResponse {
  const { status, headers, body } = answer(decision, style, BAD_REQUEST);
  if (decision.verdict === 'allow') {
    // The application decides whether its response may be cached.
    const added = optionsOf(headers, OVERWRITE).filter(
      ({ header }) => header.key !== 'Cache-Control',
    );
    return { status: { code: OK }, ok_response: { response_headers_to_add: added } };
  }
  return denial(status, headers, body);
}

/** Replaces the application's response. `headers`: name, value, name, value. */
function denial(status: number, headers: readonly string[], body: string): EnvoyCheckResponse {
  return {
    status: { code: status === 429 ? RESOURCE_EXHAUSTED : PERMISSION_DENIED },
    // Up to 1.36 Envoy drops headers with an append action from a denial.
    denied_response: { status: { code: status }, headers: optionsOf(headers), body },
  };
}

function optionsOf(headers: readonly string[], append_action?: typeof OVERWRITE) {
  const options: HeaderValueOption[] = [];
  for (let i = 0; i < headers.length; i += 2) {
    const header = { key: headers[i] ?? '', value: headers[i + 1] ?? '' };
    options.push(append_action === undefined ? { header } : { header, append_action });
  }
  return options;
}

export const envoyGrpc = {
  name: 'envoy-grpc',
  hasProxyConfig: true,
  isAboutHttp,
  parse,
  render,
  unauthorized: denial(
    403,
    ['Content-Type', 'application/json'],
    '{"error":"forbidden","message":"The proxy secret is missing or wrong."}',
  ),
};
