/** One check that a proxy sent over HTTP, and the answers, also those that no dialect renders. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { CheckRequest } from '../core/check-request.ts';
import type { Decision } from '../core/counting/decision.ts';
import type { Answer, Dialect } from '../core/dialect.ts';
import type { AnswerStyle } from '../core/matching/policy-set.ts';
import type { WriteAnswer } from './answer-writer.ts';
import { type ConnectionGuard, guardOf } from './connection-guard.ts';
import type { PendingCheck } from './handler.ts';

export interface HttpCheckOptions extends Answering {
  readonly dialect: Dialect;
  /** The request target after the dialect's mount. */
  readonly target: string;
  readonly message: IncomingMessage;
  readonly response: ServerResponse;
  readonly callerWithoutAddress: string;
}

export class HttpCheck implements PendingCheck {
  readonly #options: HttpCheckOptions;

  constructor(options: HttpCheckOptions) {
    this.#options = options;
  }

  get dialect(): string {
    return this.#options.dialect.name;
  }

  isGone(): boolean {
    const { socket } = this.#options.message;
    return socket.destroyed || socket.readableEnded;
  }

  parse(): CheckRequest {
    const { dialect, target, message, callerWithoutAddress } = this.#options;
    const { method = '', headers, socket } = message;
    const remoteAddress = socket.remoteAddress ?? callerWithoutAddress;
    return dialect.parse({ method, target, headers, remoteAddress });
  }

  answer(decision: Decision, style: AnswerStyle): void {
    const { dialect, message, response } = this.#options;
    writeAnswer(response, dialect.render(decision, style, message.headers), this.#options);
  }

  fail(): void {
    const { response } = this.#options;
    if (!response.headersSent) writeAnswer(response, internalError(), this.#options);
  }
}

/** What all answers of a server have in common. */
export interface Answering {
  readonly write: WriteAnswer;
  /** The gateway is stopping, so the proxy must open a new connection for its next request. */
  readonly isLeaving: () => boolean;
}

export function writeAnswer(response: ServerResponse, answer: Answer, at: Answering): void {
  // A connection is closed together with an answer. If it were closed while idle, the proxy's next request could be lost.
  if (at.isLeaving()) response.shouldKeepAlive = false;
  const guard = guardOf(response.req.socket) as ConnectionGuard;
  guard.enter(() => at.write(response, withLength(answer)));
}

/** Node does not send the body in response to a HEAD, but its length is required. */
export function withLength(answer: Answer): Answer {
  answer.headers.push('Content-Length', String(Buffer.byteLength(answer.body)));
  return answer;
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

export function failure(status: number, error: string, message: string): Answer {
  return json(status, JSON.stringify({ error, message }));
}

export function json(status: number, body: string): Answer {
  const headers = ['Content-Type', 'application/json', 'Cache-Control', 'no-store'];
  return { status, headers, body };
}
