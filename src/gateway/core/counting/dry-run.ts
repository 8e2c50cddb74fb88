/** Predicts the result of a take without taking, so that `explain` does not change what it explains. */
import { fixedWindowAt } from './calendar.ts';
import type {
  Descriptor,
  LocalLimiter,
  PeekResult,
  QuotaReader,
  QuotaState,
  QuotaStore,
  TakeResult,
} from './store.ts';

export function dryRun(reader: QuotaReader): Pick<QuotaStore, 'take'> {
  return { take: async (descriptors) => predicted(descriptors, await reader.peek(descriptors)) };
}

export function localDryRun(
  peek: (descriptors: readonly Descriptor[]) => PeekResult,
): LocalLimiter {
  return { record: () => {}, take: (descriptors) => predicted(descriptors, peek(descriptors)) };
}

function predicted(descriptors: readonly Descriptor[], { states, nowMs }: PeekResult): TakeResult {
  const admitted = states.every(({ retryAfterMs }) => retryAfterMs === 0);
  return {
    admitted,
    states: admitted ? descriptors.map((each, i) => afterTake(each, states[i], nowMs)) : states,
    nowMs,
  };
}

/** `retryAfterMs` is never earlier than the truth. */
function afterTake(
  descriptor: Descriptor,
  state: QuotaState | undefined,
  nowMs: number,
): QuotaState {
  if (state === undefined) throw new RangeError('a peek must answer for every descriptor');
  const { cost } = descriptor;
  // A check takes nothing. How much a refund gives back depends on what was counted, which a peek does not tell.
  if (cost <= 0) return { ...state, retryAfterMs: 0 };
  const remaining = state.remaining - cost;
  const resetAfterMs = fullAfterMs(descriptor, state, nowMs);
  return {
    limit: state.limit,
    remaining,
    resetAfterMs,
    retryAfterMs: remaining >= cost ? 0 : resetAfterMs,
  };
}

/** In milliseconds. For a token bucket it may be one millisecond too long, because of rounding. */
function fullAfterMs({ quota, cost }: Descriptor, { resetAfterMs }: QuotaState, nowMs: number) {
  const { algorithm, limit, windowMs } = quota;
  if (algorithm === 'fixed-window') return fixedWindowAt(quota, nowMs).endMs - nowMs;
  if (algorithm === 'sliding-window-log') return windowMs;
  if (algorithm === 'sliding-window-counter') return 2 * windowMs - (nowMs % windowMs);
  return resetAfterMs + Math.ceil((cost * windowMs) / limit);
}
