import type { CheckRequest, HeaderFields } from '../../core/check-request.ts';
import type { Decision } from '../../core/counting/decision.ts';
import type { AnswerStyle } from '../../core/matching/policy-set.ts';
import type { PendingCheck } from '../handler.ts';
import type { GrpcCall } from './grpc-call.ts';
import { FAULT } from './status.ts';

export interface GrpcDialect<Answer> {
  readonly name: string;
  /** Returns undefined for a check that is not about an HTTP request. Throws for bytes that are no message. */
  parse(message: Buffer, remoteAddress: string, metadata: HeaderFields): CheckRequest | undefined;
  render(decision: Decision, style: AnswerStyle): Answer;
  /** One character for each byte. */
  write(answer: Answer): string;
  /** The answer for a caller without the proxy secret. */
  readonly unauthorized: Answer;
}

export function grpcCheck<Answer>(
  { name, render, write }: GrpcDialect<Answer>,
  call: GrpcCall,
  request: CheckRequest,
): PendingCheck {
  return {
    dialect: name,
    isGone: () => call.isGone,
    parse: () => request,
    answer(decision, style) {
      if (!call.isGone) call.answer(write(render(decision, style)));
    },
    fail: () => call.fail(FAULT),
  };
}
