/**
 * Proxies of the forward-auth kind: they send a check as a request to the gateway's own path, and say in headers what
 * their client requested. A dialect is one call of `forwardAuth`; what a proxy does differently overrides it.
 */
import type { CheckRequest, HeaderFields } from '../../core/check-request.ts';
import type { Dialect, ProxyCall } from '../../core/dialect.ts';
import { singleValue } from '../../core/identity/header-value.ts';
import { answer } from './answer.ts';

/** Names of headers, in lower case. */
interface ForwardAuthHeaders {
  readonly method: string;
  readonly target: string;
  /** The target that the client sent, if `target` is another one. */
  readonly sentTarget?: string;
  readonly host?: string;
  readonly peer: string;
  readonly client?: string;
  /** `peer` or `client`. Without this header, and without method and target, the proxy is misconfigured. */
  readonly requiredAddress: string;
  /** An id that the proxy generates for each request and that no client can choose. */
  readonly requestId?: string;
}

export interface ForwardAuthOptions
  extends Pick<Dialect, 'name' | 'hasProxyConfig' | 'badRequest'> {
  readonly headers: ForwardAuthHeaders;
  /** By default the header must have one value. */
  readonly readPeer?: ReadHeader;
}

type ReadHeader = (headers: HeaderFields, name: string) => string | undefined;

export function forwardAuth(options: ForwardAuthOptions): Dialect {
  const { headers, readPeer = singleValue, ...dialect } = options;
  const { badRequest } = dialect;
  return {
    ...dialect,
    mount: `/${dialect.name}`,
    parse: forwardedRequestParser(headers, readPeer),
    render: (decision, style, sent) => answer(decision, { style, sent, badRequest }),
  };
}

function forwardedRequestParser(
  names: ForwardAuthHeaders,
  readPeer: ReadHeader,
): (call: ProxyCall) => CheckRequest {
  const { host = 'host', sentTarget: sentIn, requestId } = names;
  const reportedIn = addressHeaders(names.peer, names.client);
  return ({ headers, remoteAddress }) => {
    const method = singleValue(headers, names.method);
    const target = singleTarget(headers, names.target);
    const sentTarget = sentIn && singleTarget(headers, sentIn);
    const peer = readPeer(headers, names.peer);
    const client = names.client === undefined ? undefined : singleValue(headers, names.client);
    const address = names.requiredAddress === names.peer ? peer : client;
    const isUnclear = sentIn !== undefined && sentIn in headers && sentTarget === undefined;
    const isComplete =
      method !== undefined && target !== undefined && address !== undefined && !isUnclear;
    return {
      method: method ?? '',
      host: headers[host]?.toString() ?? '',
      target: target ?? '/',
      sentTarget,
      headers,
      addresses: {
        proxy: remoteAddress,
        peer,
        client,
        forwardedFor: headers['x-forwarded-for']?.toString(),
        forwarded: headers.forwarded?.toString(),
        headers: reportedIn,
      },
      policy: undefined,
      requestId: requestId === undefined ? undefined : singleValue(headers, requestId),
      missing: isComplete
        ? NOTHING_MISSING
        : namesOfMissing([
            [names.method, method],
            [names.target, target],
            [names.requiredAddress, address],
            ...(isUnclear ? [[sentIn, sentTarget] as const] : []),
          ]),
    };
  };
}

/** Undefined if there are two, which Node joins with a comma and a space. A target may have commas, but no spaces. */
function singleTarget(headers: HeaderFields, name: string): string | undefined {
  const value = headers[name];
  if (typeof value !== 'string' || value === '') return undefined;
  return value.includes(', ') ? undefined : value;
}

function namesOfMissing(
  required: readonly (readonly [name: string, value: string | undefined])[],
): string[] {
  return required.flatMap(([name, value]) => (value === undefined ? [name] : []));
}

export const NOTHING_MISSING: readonly string[] = [];

/** `names`: the headers that peer and client come from. Computed once for each dialect. */
export function addressHeaders(...names: readonly (string | undefined)[]): readonly string[] {
  const all = [...names, 'x-forwarded-for', 'forwarded'];
  return [...new Set(all.filter((name) => name !== undefined))];
}
