/** Records a span for each sampled check or call. */
import type { CheckSpan } from '../../core/counting/counting.ts';
import type { Decision } from '../../core/counting/decision.ts';

/** Ends the span with what `decide` decides. A check or call that is not sampled has none. */
export function inSpan<Result>(
  span: CheckSpan | undefined,
  decide: (span?: CheckSpan) => Result | Promise<Result>,
  decisionOf: (result: Result) => Decision,
): Result | Promise<Result> {
  if (span === undefined) return decide();
  const record = (result: Result) => {
    span.decided(decisionOf(result));
    return result;
  };
  const recordFailure = (error: unknown): never => {
    span.failed(error);
    throw error;
  };
  try {
    const result = decide(span);
    return result instanceof Promise ? result.then(record, recordFailure) : record(result);
  } catch (error) {
    return recordFailure(error);
  }
}
