/** `envoy.service.ratelimit.v3.RateLimitService`: calls over gRPC, and the same calls as JSON. */
import type { HeaderFields } from '../../core/check-request.ts';
import type { Decision } from '../../core/counting/decision.ts';
import { StoreError } from '../../core/counting/store.ts';
import { type AnsweredCall, RefusedCall } from '../../ratelimit/call.ts';
import { readJsonCall, writeJsonAnswer } from '../../ratelimit/messages/json.ts';
import { readCall } from '../../ratelimit/messages/request.ts';
import { writeResponse } from '../../ratelimit/messages/response.ts';
import type { RateLimiting } from '../../ratelimit/rate-limiting.ts';
import type { UnaryCall } from '../../server/grpc/grpc-server.ts';
import { FAULT, statusOfError } from '../../server/grpc/status.ts';
import type { Handle, Pending } from '../../server/handler.ts';
import type { JsonAnswer } from '../../server/json-server.ts';

const NAME = 'envoy.service.ratelimit.v3.RateLimitService';
/** How logs and metrics name the proxy that sends calls. */
const DIALECT = 'envoy-ratelimit';

const STATUS_CODES: Readonly<Record<RefusedCall['code'], number>> = {
  invalid_argument: 3,
  unavailable: 14,
};

interface RateLimitServiceOptions extends Pick<RateLimiting, 'answer'> {
  readonly handle: Handle;
}

export function rateLimitService({ answer, handle }: RateLimitServiceOptions) {
  return {
    name: NAME,
    method: 'ShouldRateLimit',
    healthNames: ['ratelimit'],
    handle: (call: UnaryCall, message: Buffer, headers: HeaderFields) =>
      handle(pendingCall(call, () => answer(readCall(message), headers))),
    answerJson: (written: string, headers: HeaderFields) =>
      new Promise<JsonAnswer>((resolve) =>
        handle(pendingJson(resolve, () => answer(readJsonCall(written), headers))),
      ),
  };
}

type Decide = Pending<AnsweredCall>['decide'];

function pendingCall(call: UnaryCall, decide: Decide): Pending<AnsweredCall> {
  return {
    dialect: DIALECT,
    isGone: () => call.isGone,
    decide,
    answer({ answer, decision }): Decision {
      if (!call.isGone) call.answer(writeResponse(answer));
      return decision;
    },
    fail(error) {
      const refused = refusalOf(error);
      const status =
        refused === undefined
          ? statusOfError(error)
          : { code: STATUS_CODES[refused.code], message: refused.message };
      call.fail(status);
      return status === FAULT;
    },
  };
}

/** The answer is 200, 429 for a call over its limits, or 400 for anything that is no call. */
function pendingJson(send: (answer: JsonAnswer) => void, decide: Decide): Pending<AnsweredCall> {
  const refuse = (status: number, message: string) =>
    send({ status, body: JSON.stringify({ error: message }) });
  return {
    dialect: DIALECT,
    isGone: () => false,
    decide,
    answer({ answer, decision }): Decision {
      send({ status: answer.isOverLimit ? 429 : 200, body: writeJsonAnswer(answer) });
      return decision;
    },
    fail(error) {
      const refused = refusalOf(error);
      if (refused === undefined) refuse(500, FAULT.message);
      else refuse(refused.code === 'unavailable' ? 503 : 400, refused.message);
      return refused === undefined;
    },
  };
}

/** Without the store, Envoy decides by its `failure_mode_deny`. */
function refusalOf(error: unknown): RefusedCall | undefined {
  if (error instanceof StoreError) return new RefusedCall('unavailable', 'The store failed.');
  return error instanceof RefusedCall ? error : undefined;
}
