/** What the recording of spans offers to checks, without OpenTelemetry's own types. */
import type { CheckRequest } from '../../core/check-request.ts';
import type { Decision } from '../../core/counting/decision.ts';

/** Starts the span of a check. Returns undefined for a check that is not sampled. */
export type StartCheckSpan = (request: CheckRequest) => CheckSpan | undefined;

export interface CheckSpan {
  /** Starts the span of a take, of so many descriptors. */
  startTake(descriptors: number): TakeSpan;
  decided(decision: Decision): void;
  failed(error: unknown): void;
}

export interface TakeSpan {
  answered(admitted: boolean): void;
  failed(error: unknown): void;
}
