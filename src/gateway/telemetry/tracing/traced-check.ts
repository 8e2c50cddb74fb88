/** Records a span for each sampled check, and one for each of its takes. */
import type { Check } from '../../core/check.ts';
import type { Decision } from '../../core/counting/decision.ts';
import type { QuotaStore, TakeResult } from '../../core/counting/store.ts';
import type { CheckSpan, StartCheckSpan } from './spans.ts';

type Store = Pick<QuotaStore, 'take'>;

/** Builds the check that counts in a store. */
export type CheckFor = (store: Store) => Check;

/** A sampled check is built anew with a store that records takes. All other checks share one. */
export function tracedCheck(checkFor: CheckFor, store: Store, start: StartCheckSpan): Check {
  const check = checkFor(store);
  return (request, set, nowMs) => {
    const span = start(request);
    if (span === undefined) return check(request, set, nowMs);
    const recordDecision = (decision: Decision) => {
      span.decided(decision);
      return decision;
    };
    const recordFailure = (error: unknown): never => {
      span.failed(error);
      throw error;
    };
    try {
      const decision = checkFor(recordingTakes(store, span))(request, set, nowMs);
      return decision instanceof Promise
        ? decision.then(recordDecision, recordFailure)
        : recordDecision(decision);
    } catch (error) {
      return recordFailure(error);
    }
  };
}

function recordingTakes(store: Store, check: CheckSpan): Store {
  return {
    take(descriptors) {
      const span = check.startTake(descriptors.length);
      const record = (result: TakeResult) => {
        span.answered(result.admitted);
        return result;
      };
      const taken = store.take(descriptors);
      if (!(taken instanceof Promise)) return record(taken);
      return taken.then(record, (error: unknown) => {
        span.failed(error);
        throw error;
      });
    },
  };
}
