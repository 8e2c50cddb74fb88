/**
 * Caddy, `forward_auth`.
 *
 * A GET of the gateway's own path with all of the client's headers, and what Caddy knows in headers that it overwrites.
 * 2xx lets the request through; any other answer goes to the client as it is, headers and body.
 */
import { type CheckRequest, singleValue } from '../core/check-request.ts';
import type { Decision } from '../core/decision.ts';
import type { Answer, Dialect, ProxyCall } from '../core/dialect.ts';
import type { AnswerStyle } from '../core/policy-set.ts';
import { answer } from './answer.ts';
import { NOTHING_MISSING, namesOfMissing } from './required.ts';
import { targetIn } from './target.ts';

export const caddy: Dialect = { name: 'caddy', mount: '/caddy', badRequest: 400, parse, render };

const METHOD = 'x-forwarded-method';
/** Without `handle_path` and its like: the URI that the client sent. */
const TARGET = 'x-forwarded-uri';
/** `{http.request.remote.host}`: who connected. Set by our Caddyfile, not by Caddy. */
const PEER_ADDRESS = 'x-headgate-peer-ip';
/** The peer, and before it what the client sent if Caddy's own `trusted_proxies` names the peer. */
const FORWARDED_FOR = 'x-forwarded-for';
const ADDRESS_HEADERS = [PEER_ADDRESS, FORWARDED_FOR, 'forwarded'];

function parse({ headers, remoteAddress }: ProxyCall): CheckRequest {
  const method = singleValue(headers, METHOD);
  const target = targetIn(headers, TARGET);
  const peer = singleValue(headers, PEER_ADDRESS);
  return {
    method: method ?? '',
    host: headers.host?.toString() ?? '',
    target: target ?? '/',
    headers,
    addresses: {
      proxy: remoteAddress,
      peer,
      client: undefined,
      forwardedFor: headers[FORWARDED_FOR]?.toString(),
      forwarded: headers.forwarded?.toString(),
      headers: ADDRESS_HEADERS,
    },
    missing:
      method && target && peer
        ? NOTHING_MISSING
        : namesOfMissing({ [METHOD]: method, [TARGET]: target, [PEER_ADDRESS]: peer }),
  };
}

function render(decision: Decision, style: AnswerStyle): Answer {
  return answer(decision, style, caddy.badRequest);
}
