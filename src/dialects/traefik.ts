/**
 * Traefik, `ForwardAuth`.
 *
 * A GET of the gateway's own path with the client's headers, or those of them that `authRequestHeaders` lists, and with
 * X-Forwarded-* headers that Traefik overwrites (`trustForwardHeader: false`) or extends (`true`). 2xx lets the request
 * through, and nothing of the answer then reaches the client; any other answer goes to the client as it is.
 */
import type { HeaderFields } from '../core/check-request.ts';
import type { Dialect } from '../core/dialect.ts';
import { renderer } from './shared/answer.ts';
import { questionParser } from './shared/forwarded-request.ts';

const METHOD = 'x-forwarded-method';
/** After Traefik's own clean-up, and after the middlewares before this one. */
const TARGET = 'x-forwarded-uri';
/** `Host` is that of the gateway. */
const HOST = 'x-forwarded-host';
/** Traefik appends who connected to whatever it took over. */
const ADDRESSES = 'x-forwarded-for';

const parse = questionParser(
  { method: METHOD, target: TARGET, host: HOST, peer: ADDRESSES, requiredAddress: ADDRESSES },
  lastOf,
);

export const traefik: Dialect = {
  name: 'traefik',
  mount: '/traefik',
  hasProxyConfig: true,
  badRequest: 400,
  parse,
  render: renderer(400),
};

function lastOf(headers: HeaderFields, name: string): string | undefined {
  const value = headers[name]?.toString() ?? '';
  return value.slice(value.lastIndexOf(',') + 1).trim() || undefined;
}
