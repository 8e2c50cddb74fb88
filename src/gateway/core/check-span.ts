/** The span of a check or call, and those of its takes. A tracer records them; a check that is not sampled has none. */
import type { HeaderFields } from './check-request.ts';
import type { Decision } from './counting/decision.ts';

/** `headers` may hold the trace context of the caller. Returns undefined for a check that is not sampled. */
export type StartCheckSpan = (headers: HeaderFields) => CheckSpan | undefined;

export interface CheckSpan {
  startTake(descriptors: number): TakeSpan;
  decided(decision: Decision): void;
  failed(error: unknown): void;
}

export interface TakeSpan {
  answered(admitted: boolean): void;
  failed(error: unknown): void;
}
