/** Writes answers to proxies over HTTP, and makes the answers that no dialect renders. */
import type { ServerResponse } from 'node:http';
import type { Answer, Dialect } from '../core/dialect.ts';
import { type ConnectionGuard, guardOf } from './connection-guard.ts';

/** `isLeaving`: whether the gateway is stopping, so that the proxy must open a new connection for its next request. */
export function writeAnswer(
  response: ServerResponse,
  { status, headers, body }: Answer,
  isLeaving: boolean,
): void {
  // A connection is closed together with an answer. If it were closed while idle, the proxy's next request could be lost.
  if (isLeaving) response.shouldKeepAlive = false;
  // Node does not send the body in response to a HEAD, but its length is required.
  headers.push('Content-Length', String(Buffer.byteLength(body)));
  const guard = guardOf(response.req.socket) as ConnectionGuard;
  guard.enter(() => {
    response.writeHead(status, headers);
    response.end(body);
  });
}

export function badRequest(status: number, message: string): Answer {
  return failure(status, 'bad_request', message);
}

export function unauthorized(): Answer {
  const answer = failure(403, 'forbidden', 'The proxy secret is missing or wrong.');
  // NGINX drops the body of a 403, and deploy/nginx takes it from this header.
  answer.headers.push('X-Headgate-Body', answer.body);
  return answer;
}

export function notFound(dialects: readonly Dialect[]): Answer {
  const mounts = dialects.map(({ mount }) => mount).join(', ');
  return failure(404, 'not_found', `Nothing is here. Proxies send checks to ${mounts}.`);
}

/** The only 5xx: it makes the proxy apply its own failure mode. */
export function internalError(): Answer {
  return failure(500, 'internal_error', 'The gateway failed.');
}

function failure(status: number, error: string, message: string): Answer {
  return {
    status,
    headers: ['Content-Type', 'application/json', 'Cache-Control', 'no-store'],
    body: JSON.stringify({ error, message }),
  };
}
