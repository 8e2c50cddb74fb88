/** What a take would say now, without taking: for who asks why, and must not change the answer by asking. */
import type { LocalLimiter } from './local-limiter.ts';
import type {
  Descriptor,
  PeekResult,
  Quota,
  QuotaReader,
  QuotaState,
  QuotaStore,
  TakeResult,
} from './store.ts';

export function dryRun(reader: QuotaReader): Pick<QuotaStore, 'take'> {
  return { take: async (descriptors) => foretold(descriptors, await reader.peek(descriptors)) };
}

/** The same of what this process counts for itself. */
export function localDryRun(
  peek: (descriptors: readonly Descriptor[]) => PeekResult,
): LocalLimiter {
  return { record: () => {}, take: (descriptors) => foretold(descriptors, peek(descriptors)) };
}

function foretold(descriptors: readonly Descriptor[], { states, nowMs }: PeekResult): TakeResult {
  const admitted = states.every(({ retryAfterMs }) => retryAfterMs === 0);
  return {
    admitted,
    states: admitted ? descriptors.map((each, i) => taken(each, states[i], nowMs)) : states,
    nowMs,
  };
}

/** As it would stand after the take. When another request would be admitted is told no earlier than it is. */
function taken(
  { quota, cost }: Descriptor,
  state: QuotaState | undefined,
  nowMs: number,
): QuotaState {
  if (state === undefined) throw new RangeError('a peek must answer for every descriptor');
  const remaining = state.remaining - cost;
  const resetAfterMs = fullAfterMs(quota, cost, state, nowMs);
  return {
    limit: state.limit,
    remaining,
    resetAfterMs,
    retryAfterMs: remaining >= cost ? 0 : resetAfterMs,
  };
}

/** A bucket's may be a millisecond more than it is: what flows back is told in whole ones. */
function fullAfterMs(quota: Quota, cost: number, { resetAfterMs }: QuotaState, nowMs: number) {
  const { algorithm, limit, windowMs } = quota;
  if (algorithm === 'sliding-window-log') return windowMs;
  if (algorithm === 'sliding-window-counter') return 2 * windowMs - (nowMs % windowMs);
  return resetAfterMs + Math.ceil((cost * windowMs) / limit);
}
