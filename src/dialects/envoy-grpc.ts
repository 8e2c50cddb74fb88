/**
 * Envoy, `ext_authz` in gRPC mode, and what is built on it (Envoy Gateway, Contour, Istio).
 *
 * One message holds what Envoy knows of the request, one what is to become of it; `proto/authorization.proto` has their
 * fields. Here Envoy can be told to overwrite headers of the application's answer, which it cannot in HTTP mode.
 */
import { type CheckRequest, type HeaderFields, singleValue } from '../core/check-request.ts';
import type { Decision } from '../core/decision.ts';
import type { AnswerStyle } from '../core/policy-set.ts';
import { answer } from './shared/answer.ts';
import { NOTHING_MISSING } from './shared/forwarded-request.ts';

/** For what no honest client sends. */
const BAD_REQUEST = 400;

/** A `CheckRequest` of Envoy's; fields that were not sent are undefined. */
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

/** A `CheckResponse` of Envoy's. */
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

/** OVERWRITE_IF_EXISTS_OR_ADD; by default Envoy adds to what the application sent. */
const OVERWRITE = 2;
/** Codes of gRPC (google/rpc/code.proto). Envoy asks only whether it is 0. */
const OK = 0;
const PERMISSION_DENIED = 7;
const RESOURCE_EXHAUSTED = 8;

/** Where addresses come from, besides the message itself. */
const ADDRESS_HEADERS = ['x-forwarded-for', 'forwarded'];
/** `context_extensions: { policy: login }`: what this route is held to. */
const POLICY = 'policy';
/**
 * `context_extensions: { request_id: x-request-id }`: the header that Envoy makes up for each request. It does so for
 * every client only with `use_remote_address` and no internal addresses, so it must say so.
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
    // None, of a CONNECT request.
    target: asBytes(http.path || '/'),
    headers,
    addresses: {
      proxy: remoteAddress,
      peer: attributes?.source?.address?.socket_address?.address,
      client: undefined,
      forwardedFor: headers['x-forwarded-for']?.toString(),
      forwarded: headers.forwarded?.toString(),
      headers: ADDRESS_HEADERS,
    },
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
    // As in the other map: two values are told by their comma.
    found[key] = found[key] === undefined ? text : `${found[key]},${text}`;
  }
  return found;
}

const BEYOND_ASCII = /[^\0-\x7f]/;

/** A character for each byte, as HTTP has them: the same key is the same text over either protocol. */
function asBytes(text: string): string {
  return BEYOND_ASCII.test(text) ? Buffer.from(text, 'utf8').toString('latin1') : text;
}

function render(decision: Decision, style: AnswerStyle): EnvoyCheckResponse {
  const { status, headers, body } = answer(decision, style, BAD_REQUEST);
  if (decision.verdict === 'allow') {
    // Whether the application's answer may be stored is not ours to say.
    const told = optionsOf(headers, OVERWRITE).filter(
      ({ header }) => header.key !== 'Cache-Control',
    );
    return { status: { code: OK }, ok_response: { response_headers_to_add: told } };
  }
  return refusal(status, headers, body);
}

/** What the client is told in place of the application's answer: name, value, name, value. */
function refusal(status: number, headers: readonly string[], body: string): EnvoyCheckResponse {
  return {
    status: { code: status === 429 ? RESOURCE_EXHAUSTED : PERMISSION_DENIED },
    // Up to 1.36 Envoy leaves out of a denial what says how to append.
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
  unauthorized: refusal(
    403,
    ['Content-Type', 'application/json'],
    '{"error":"forbidden","message":"Only proxies that send the secret are answered."}',
  ),
};
