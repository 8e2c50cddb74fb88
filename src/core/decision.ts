/** What the gateway makes of a request. How a proxy is told is its dialect's business. */
import type { LimitDescriptor } from './descriptor.ts';
import type { AddressPartition } from './partition.ts';
import type { Limit, Policy } from './policy.ts';
import type { QuotaState, TakeResult } from './store.ts';

export type Verdict = 'allow' | 'deny';

/**
 * How far the decision can be relied on: `enforced` was measured in the store, `local` in this process alone, `open`
 * and `closed` were not measured at all.
 */
export type DecisionMode = 'enforced' | 'local' | 'open' | 'closed';

/** The limit that speaks for a request, and how it stands. */
export interface BindingQuota {
  readonly limit: Limit;
  readonly state: QuotaState;
  /** Of the store that measured it, milliseconds since the epoch. */
  readonly nowMs: number;
  /** The key that was counted: opaque, and the same for one client from request to request. */
  readonly key: string;
}

/** What a denial is known by: to the client, in the log, and to who asks about it later. */
export interface Denial extends Denied {
  readonly id: string;
}

/** Whose request it was. */
export interface Denied {
  /** The partition that spoke for the client: opaque. */
  readonly client: string;
  /** Whether that may be made up: a key that nobody vouches for. */
  readonly isMadeUp: boolean;
  /** The address behind it. */
  readonly address: AddressPartition;
  /** The source that it is from. */
  readonly identity: string;
}

export interface Decision {
  readonly verdict: Verdict;
  readonly reason:
    | 'within_limits'
    | 'over_limit'
    | 'malformed_path'
    | 'malformed_host'
    /** A header that identifies the client has several values. */
    | 'ambiguous_identity'
    | 'store_failure'
    | 'exempt'
    | 'blocked'
    /** By no policy that is enforced. */
    | 'not_enforced';
  readonly mode: DecisionMode;
  /** The name of the policy that speaks; `none` for a request that none was asked about. */
  readonly policy: string;
  /** Absent when nothing was measured. */
  readonly binding: BindingQuota | undefined;
  /** The limits that were asked, in the order of the policies. */
  readonly limits: readonly Limit[];
  /** Of every denial. */
  readonly denial?: Denial;
  /** It was made before, for the same request, and nothing was counted for it again. */
  readonly isRepeated?: true;
}

export const MALFORMED_PATH = uncounted('deny', 'malformed_path');
export const MALFORMED_HOST = uncounted('deny', 'malformed_host');
export const AMBIGUOUS_IDENTITY = uncounted('deny', 'ambiguous_identity');
export const EXEMPT = uncounted('allow', 'exempt');
export const BLOCKED = uncounted('deny', 'blocked');

export function notEnforced({ name }: Policy): Decision {
  return uncounted('allow', 'not_enforced', name);
}

function uncounted(verdict: Verdict, reason: Decision['reason'], policy = 'none'): Decision {
  return { verdict, reason, mode: 'enforced', policy, binding: undefined, limits: [] };
}

export function decide(
  descriptors: readonly LimitDescriptor[],
  result: TakeResult,
  mode: DecisionMode,
): Decision {
  const index = bindingIndex(result);
  const descriptor = descriptors[index];
  const state = result.states[index];
  if (descriptor === undefined || state === undefined) {
    throw new RangeError('a take must answer for every descriptor, and there must be one');
  }
  return {
    verdict: result.admitted ? 'allow' : 'deny',
    reason: result.admitted ? 'within_limits' : 'over_limit',
    mode,
    policy: descriptor.source.policy.name,
    binding: { limit: descriptor.source, state, nowMs: result.nowMs, key: descriptor.key },
    limits: descriptors.map((each) => each.source),
  };
}

export function unmeasured(mode: 'open' | 'closed', policy: Policy): Decision {
  return {
    verdict: mode === 'open' ? 'allow' : 'deny',
    reason: 'store_failure',
    mode,
    policy: policy.name,
    binding: undefined,
    limits: [],
  };
}

/** Denied: the longest wait. Admitted: the least remaining fraction. The first of equals. */
function bindingIndex({ admitted, states }: TakeResult): number {
  let index = -1;
  let strictest = Number.NEGATIVE_INFINITY;
  for (const [i, state] of states.entries()) {
    if (state === undefined) continue;
    const strictness = admitted ? -state.remaining / state.limit : state.retryAfterMs;
    if (strictness > strictest) {
      strictest = strictness;
      index = i;
    }
  }
  return index;
}
