/** A service of the gRPC port beside that of checks: one method, one message each way. */
import type { HeaderFields } from '../../core/check-request.ts';
import type { GrpcStatus } from './status.ts';

export interface UnaryService {
  /** `envoy.service.ratelimit.v3.RateLimitService` */
  readonly name: string;
  readonly method: string;
  /** Other names under which health checks know it. */
  readonly healthNames: readonly string[];
  /** Answers the call now or later. */
  handle(call: UnaryCall, message: Buffer, headers: HeaderFields): void;
}

export interface UnaryCall {
  /** Whether the caller has disconnected or given up. */
  readonly isGone: boolean;
  /** Sends the message: a string with one character for each byte. */
  answer(message: string): void;
  fail(status: GrpcStatus): void;
}
