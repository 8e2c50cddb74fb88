/** `envoy.service.ratelimit.v3.RateLimitService`: calls over gRPC, and the same calls as JSON. */
import { RefusedCall } from '../../ratelimit/call.ts';
import type { AnsweredCall } from '../../ratelimit/events.ts';
import { readJsonCall, writeJsonAnswer } from '../../ratelimit/messages/json.ts';
import { readCall } from '../../ratelimit/messages/request.ts';
import { writeResponse } from '../../ratelimit/messages/response.ts';
import type { RateLimiting } from '../../ratelimit/rate-limiting.ts';
import type { Arrivals } from '../../server/arrivals.ts';
import { FAULT, type GrpcStatus, statusOfError } from '../../server/grpc/status.ts';
import type { UnaryCall, UnaryService } from '../../server/grpc/unary-service.ts';
import type { JsonAnswer } from '../../server/json-server.ts';
import type { Telemetry } from '../../telemetry/telemetry.ts';

const NAME = 'envoy.service.ratelimit.v3.RateLimitService';
/** How logs and metrics name the proxy that asks. */
const DIALECT = 'envoy-ratelimit';

const STATUS_CODES: Readonly<Record<RefusedCall['code'], number>> = {
  invalid_argument: 3,
  unavailable: 14,
};

export interface RateLimitServiceOptions {
  readonly limiting: Pick<RateLimiting, 'answer'>;
  readonly arrivals: Arrivals;
  readonly events: Pick<Telemetry['decisions'], 'checkFailed'>;
  /** Called with each call that was answered. */
  readonly onDecided: (answered: AnsweredCall, dialect: string, durationMs: number) => void;
}

export function rateLimitService(options: RateLimitServiceOptions): UnaryService {
  return {
    name: NAME,
    method: 'ShouldRateLimit',
    // That of envoyproxy/ratelimit.
    healthNames: ['ratelimit'],
    handle(call, message) {
      const startedMs = performance.now();
      const isGone = () => call.isGone;
      options.arrivals.add(startedMs, { isGone }, () =>
        answerCall({ call, message, startedMs }, options),
      );
    },
  };
}

interface ArrivedCall {
  readonly call: UnaryCall;
  readonly message: Buffer;
  /** When it arrived, of `performance.now()`. */
  readonly startedMs: number;
}

function answerCall(
  { call, message, startedMs }: ArrivedCall,
  { limiting, arrivals, events, onDecided }: RateLimitServiceOptions,
): void {
  const fail = (error: unknown) => {
    const status = statusOf(error);
    if (status === FAULT) events.checkFailed(DIALECT, error);
    call.fail(status);
  };
  const send = (answered: AnsweredCall) =>
    arrivals.atEndOfTurn(() => {
      try {
        if (!call.isGone) call.answer(writeResponse(answered.answer));
        onDecided(answered, DIALECT, performance.now() - startedMs);
      } catch (error) {
        fail(error);
      }
    });
  try {
    const answered = limiting.answer(readCall(message));
    if (answered instanceof Promise) answered.then(send, fail);
    else send(answered);
  } catch (error) {
    // The caller of this function may be the event loop, where nothing catches an error.
    fail(error);
  }
}

function statusOf(error: unknown): GrpcStatus {
  if (!(error instanceof RefusedCall)) return statusOfError(error);
  return { code: STATUS_CODES[error.code], message: error.message };
}

/** Answers a call in JSON: 200, 429 for a call over its limits, 400 for anything that is no call. */
export async function answerJson(
  written: string,
  { limiting, events, onDecided }: RateLimitServiceOptions,
): Promise<JsonAnswer> {
  const startedMs = performance.now();
  try {
    const answered = await limiting.answer(readJsonCall(written));
    onDecided(answered, DIALECT, performance.now() - startedMs);
    return { status: answered.answer.isOver ? 429 : 200, body: writeJsonAnswer(answered.answer) };
  } catch (error) {
    if (error instanceof RefusedCall) {
      return refused(error.code === 'unavailable' ? 503 : 400, error.message);
    }
    events.checkFailed(DIALECT, error);
    return refused(500, FAULT.message);
  }
}

function refused(status: number, message: string): JsonAnswer {
  return { status, body: JSON.stringify({ error: message }) };
}
