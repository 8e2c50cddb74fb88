/**
 * NGINX, `auth_request`.
 *
 * The subrequest is a GET (or, with `proxy_method HEAD`, a HEAD) of the gateway's own path: what the client asked for
 * arrives in headers. NGINX lets 2xx, 401 and 403 through and turns everything else into a 500, so `deploy/nginx` maps
 * our 429 with `error_page`. It never forwards the body of the answer, but it does keep header values.
 */
import { type CheckRequest, singleValue } from '../core/check-request.ts';
import type { Decision } from '../core/decision.ts';
import type { Answer, Dialect, ProxyCall } from '../core/dialect.ts';
import type { AnswerStyle } from '../core/policy-set.ts';
import { answer } from './answer.ts';
import { NOTHING_MISSING, namesOfMissing } from './required.ts';
import { targetIn } from './target.ts';

/** 400 would reach the client as a 500. */
export const nginx: Dialect = { name: 'nginx', mount: '/nginx', badRequest: 403, parse, render };

const METHOD = 'x-original-method';
const TARGET = 'x-original-uri';
/** `$remote_addr`: after the realip module, if that is in use. */
const CLIENT_ADDRESS = 'x-real-ip';
/** `$realip_remote_addr`: who connected. */
const PEER_ADDRESS = 'x-headgate-peer-ip';
const ADDRESS_HEADERS = [PEER_ADDRESS, CLIENT_ADDRESS, 'x-forwarded-for', 'forwarded'];

function parse({ headers, remoteAddress }: ProxyCall): CheckRequest {
  const method = singleValue(headers, METHOD);
  const target = targetIn(headers, TARGET);
  const client = singleValue(headers, CLIENT_ADDRESS);
  return {
    method: method ?? '',
    host: headers.host?.toString() ?? '',
    target: target ?? '/',
    headers,
    addresses: {
      proxy: remoteAddress,
      peer: singleValue(headers, PEER_ADDRESS),
      client,
      forwardedFor: headers['x-forwarded-for']?.toString(),
      forwarded: headers.forwarded?.toString(),
      headers: ADDRESS_HEADERS,
    },
    missing:
      method && target && client
        ? NOTHING_MISSING
        : namesOfMissing({ [METHOD]: method, [TARGET]: target, [CLIENT_ADDRESS]: client }),
  };
}

function render(decision: Decision, style: AnswerStyle): Answer {
  const rendered = answer(decision, style, nginx.badRequest);
  if (decision.verdict === 'deny') rendered.headers.push('X-Headgate-Body', rendered.body);
  return rendered;
}
