/** One check that a proxy sent over HTTP. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { CheckRequest } from '../core/check-request.ts';
import type { Decision } from '../core/counting/decision.ts';
import type { Dialect } from '../core/dialect.ts';
import type { AnswerStyle } from '../core/matching/policy-set.ts';
import type { PendingCheck } from './check-handler.ts';
import { internalError, writeAnswer } from './http-answer.ts';

export interface HttpCheckOptions {
  readonly dialect: Dialect;
  /** The request target after the dialect's mount. */
  readonly target: string;
  readonly message: IncomingMessage;
  readonly response: ServerResponse;
  readonly callerWithoutAddress: string;
  readonly isLeaving: () => boolean;
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
    const { dialect, response, isLeaving } = this.#options;
    writeAnswer(response, dialect.render(decision, style), isLeaving());
  }

  fail(): void {
    const { response, isLeaving } = this.#options;
    if (!response.headersSent) writeAnswer(response, internalError(), isLeaving());
  }
}
