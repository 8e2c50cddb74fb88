import type { DescriptorStatus } from './call.ts';
import type { CountedShare } from './counting/count.ts';

/** Part of a limit from which on hits are near it, as in envoyproxy/ratelimit. */
const NEAR = 0.8;

/** `nowMs`: milliseconds since the epoch. */
export function statusOf(counted: CountedShare, nowMs: number): DescriptorStatus {
  const { share, isOverLimit, state } = counted;
  const { rule, rate } = share.counted;
  return {
    isOverLimit: isOverLimit && !share.isShadow,
    limit: rate && { ...rate, name: rule.limitName },
    remaining: isOverLimit ? 0 : (state?.remaining ?? 0),
    resetAfter: Math.ceil(resetAfterMs(counted, nowMs) / 1000),
  };
}

/** Until the window ends; of a sliding one, until the limit is full again or, if the hits are over it, until they fit. */
function resetAfterMs({ share, isOverLimit, state }: CountedShare, nowMs: number): number {
  const { windowMs } = share.counted.limit.quota;
  if (share.counted.isAligned) return windowMs - (nowMs % windowMs);
  if (state === undefined) return 0;
  return isOverLimit ? state.retryAfterMs : state.resetAfterMs;
}

export function isNear({ share, state }: CountedShare): boolean {
  const { limit } = share.counted.limit.quota;
  return state !== undefined && limit - state.remaining > Math.floor(NEAR * limit);
}
