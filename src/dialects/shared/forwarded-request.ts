/** How a proxy that asks at a path of the gateway's own says in headers what its client asked for. */
import { type CheckRequest, type HeaderFields, singleValue } from '../../core/check-request.ts';
import type { ProxyCall } from '../../core/dialect.ts';

/** Names, in lower case. */
export interface QuestionHeaders {
  readonly method: string;
  readonly target: string;
  /** The client's `Host`, where the proxy sends another one. */
  readonly host?: string;
  /** Who connected to the proxy. */
  readonly peer: string;
  /** Who the proxy takes the client to be, if it says so. */
  readonly client?: string;
  /** Which of the two a proxy must send, as it must method and target: else it is misconfigured. */
  readonly requiredAddress: string;
  /** What the proxy made up for this request of its client's, and no client can set. */
  readonly requestId?: string;
}

type HeaderReader = (headers: HeaderFields, name: string) => string | undefined;

export function questionParser(
  names: QuestionHeaders,
  readPeer: HeaderReader = singleValue,
): (call: ProxyCall) => CheckRequest {
  const { method, target, host = 'host', peer, client, requiredAddress, requestId } = names;
  const addressHeaders = [...new Set([peer, ...(client === undefined ? [] : [client]), ...LISTS])];
  return ({ headers, remoteAddress }) => {
    const methodFound = singleValue(headers, method);
    const targetFound = targetIn(headers, target);
    const peerFound = readPeer(headers, peer);
    const clientFound = client === undefined ? undefined : singleValue(headers, client);
    const addressFound = requiredAddress === peer ? peerFound : clientFound;
    return {
      method: methodFound ?? '',
      host: headers[host]?.toString() ?? '',
      target: targetFound ?? '/',
      headers,
      addresses: {
        proxy: remoteAddress,
        peer: peerFound,
        client: clientFound,
        forwardedFor: headers['x-forwarded-for']?.toString(),
        forwarded: headers.forwarded?.toString(),
        headers: addressHeaders,
      },
      policy: undefined,
      requestId: requestId === undefined ? undefined : singleValue(headers, requestId),
      missing:
        methodFound && targetFound && addressFound
          ? NOTHING_MISSING
          : namesOfMissing([
              [method, methodFound],
              [target, targetFound],
              [requiredAddress, addressFound],
            ]),
    };
  };
}

function namesOfMissing(found: readonly [string, string | undefined][]): string[] {
  return found.flatMap(([name, value]) => (value === undefined ? [name] : []));
}

const LISTS = ['x-forwarded-for', 'forwarded'];
export const NOTHING_MISSING: readonly string[] = [];

/**
 * The target, or undefined when there is none or there were two: Node joins those with a comma and a blank. A comma
 * alone is an ordinary character of a target, a blank never is.
 */
function targetIn(headers: HeaderFields, name: string): string | undefined {
  const value = headers[name];
  if (typeof value !== 'string' || value === '') return undefined;
  return value.includes(', ') ? undefined : value;
}
