/** The decision about a call, as metrics, the log and operators know decisions. */
import type { Decision } from '../core/decision.ts';
import type { CountedShare } from './counting/counted-share.ts';

export interface Decided {
  readonly decision: Decision;
  /** The store key of the limit that decided; undefined if none applied. */
  readonly key: string | undefined;
}

const NOT_LIMITED: Decision = {
  verdict: 'allow',
  reason: 'not_enforced',
  mode: 'enforced',
  policy: 'none',
  binding: undefined,
  limits: [],
};

/** Decided by the limit with the longest wait or, if the call is within all limits, with the least remaining part. */
export function decisionOf(counted: readonly CountedShare[], isOver: boolean): Decided {
  const [first, ...others] = isOver ? counted.filter((each) => each.isOver) : counted;
  if (first === undefined) return { decision: NOT_LIMITED, key: undefined };
  const strictest = others.reduce(
    (found, each) => (strictness(each) > strictness(found) ? each : found),
    first,
  );
  const { state, descriptor, nowMs, mode } = strictest;
  const { source, key } = descriptor;
  const decision: Decision = {
    verdict: isOver ? 'deny' : 'allow',
    reason: reasonOf(strictest, isOver),
    mode,
    policy: source.policy.name,
    binding: state && { limit: source, state, nowMs, key },
    limits: counted.map((each) => each.descriptor.source),
  };
  return { decision, key };
}

function reasonOf({ share, state }: CountedShare, isOver: boolean): Decision['reason'] {
  if (share.isBlocked) return 'blocked';
  if (state === undefined) return 'store_failure';
  return isOver ? 'over_limit' : 'within_limits';
}

function strictness({ isOver, state }: CountedShare): number {
  if (state === undefined) return Number.NEGATIVE_INFINITY;
  return isOver ? state.retryAfterMs : -state.remaining / Math.max(1, state.limit);
}
