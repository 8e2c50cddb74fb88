/** The decision about a call, as metrics, the log and operators know decisions. */
import type { Decision } from '../core/counting/decision.ts';
import { partitionOf } from '../core/counting/descriptor.ts';
import type { Pseudonyms } from '../core/identity/partition.ts';
import type { CountedShare } from './counting/counted-share.ts';

export interface Decided {
  readonly decision: Decision;
  /** The names of the descriptor that decided, as partitions; undefined if no limit applied. */
  readonly client: Pseudonyms | undefined;
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
  const [first, ...others] = isOver ? counted.filter(isWaitedFor) : counted;
  if (first === undefined) return { decision: NOT_LIMITED, client: undefined };
  const strictest = others.reduce(
    (found, each) => (strictness(each) > strictness(found) ? each : found),
    first,
  );
  const { share, state, descriptor, nowMs, mode } = strictest;
  const { source, key } = descriptor;
  const decision: Decision = {
    verdict: isOver ? 'deny' : 'allow',
    reason: reasonOf(strictest, isOver),
    mode,
    policy: source.policy.name,
    binding: state && {
      ...{ limit: source, state, nowMs, key },
      ...(isNeverMet(strictest) && { isNeverMet: true }),
    },
    limits: counted.map((each) => each.descriptor.source),
  };
  return { decision, client: namesOf(share) };
}

/** The current name comes last. */
function namesOf({ descriptors }: CountedShare['share']): Pseudonyms {
  const [current = '', previous] = descriptors.map((each) => partitionOf(each.key)).reverse();
  return { current, previous };
}

function reasonOf({ share, state }: CountedShare, isOver: boolean): Decision['reason'] {
  if (share.isBlocked) return 'blocked';
  if (state === undefined) return 'store_failure';
  return isOver ? 'over_limit' : 'within_limits';
}

/** Whether a denied call would have to wait for this limit: also if it had room, and a charge has just taken it. */
function isWaitedFor({ isOver, state }: CountedShare): boolean {
  return isOver || (state?.taken !== undefined && state.retryAfterMs > 0);
}

/** A limit of 0, or a call with more hits than the limit. */
function isNeverMet({ isOver, state, descriptor }: CountedShare): boolean {
  return isOver && state !== undefined && state.limit < descriptor.cost;
}

function strictness(counted: CountedShare): number {
  const { state } = counted;
  if (state === undefined) return Number.NEGATIVE_INFINITY;
  if (isNeverMet(counted)) return Number.POSITIVE_INFINITY;
  return isWaitedFor(counted) ? state.retryAfterMs : -state.remaining / Math.max(1, state.limit);
}
