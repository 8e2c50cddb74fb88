/** A decision about a request. The dialect turns it into an answer for its proxy. */
import type { ClientAccess } from '../identity/access-lists.ts';
import type { AddressPartition } from '../identity/partition.ts';
import type { Limit, Policy } from '../policy.ts';
import type { LimitDescriptor } from './descriptor.ts';
import type { QuotaState, TakeResult } from './store.ts';

export type Verdict = 'allow' | 'deny';

/**
 * How the decision was measured: `enforced` in the store, `local` in this process alone, `open` and `closed` not at all,
 * because the store failed.
 */
export type DecisionMode = 'enforced' | 'local' | 'open' | 'closed';

/** The strictest limit of a request, and its state. */
export interface BindingQuota {
  readonly limit: Limit;
  readonly state: QuotaState;
  /** The clock of the store, in milliseconds since the epoch. */
  readonly nowMs: number;
  /** The store key that was counted. It is opaque, and the same for all requests of one client. */
  readonly key: string;
  /** The limit is lower than what the request costs, so no wait helps. */
  readonly isNeverMet?: true;
}

/** A denial with the id by which the client, the log and operators know it. */
export interface Denial extends Denied {
  readonly id: string;
  /** Of the request, see trace-context.ts. */
  readonly traceId?: string | undefined;
}

/** The client of a denied request. */
export interface Denied {
  /** The partition that identifies the client. */
  readonly client: string;
  /** Whether the client may have invented it: an API key that is not listed. */
  readonly isMadeUp: boolean;
  readonly address: AddressPartition;
  /** The source that identifies the client: `api_key`, `user`, `ip`, or the kind of an address header. */
  readonly identity: string;
  /** Why it is blocked. */
  readonly accessBy?: ClientAccess | undefined;
}

export interface Decision {
  readonly verdict: Verdict;
  readonly reason:
    | 'within_limits'
    | 'over_limit'
    | 'malformed_path'
    | 'malformed_host'
    /** A header that identifies the client can be read in several ways. */
    | 'ambiguous_identity'
    | 'store_failure'
    | 'exempt'
    | 'blocked'
    /** No policy that applies is enforced. */
    | 'not_enforced';
  readonly mode: DecisionMode;
  /** The name of the policy that decided; `none` if the request was decided before policies were looked at. */
  readonly policy: string;
  /** Undefined if nothing was measured. */
  readonly binding: BindingQuota | undefined;
  /** The limits that were checked, in the order of the policies. */
  readonly limits: readonly Limit[];
  /** Every denial has one. */
  readonly denial?: Denial;
  /** The decision repeats an earlier one for the same request; nothing was counted again. */
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

/** Turns the result of a take into a decision. Throws a RangeError if a state is missing. */
export function decide(
  descriptors: readonly LimitDescriptor[],
  result: TakeResult,
  mode: DecisionMode,
): Decision {
  const index = bindingIndex(descriptors, result);
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

/**
 * If denied, the limit with the longest wait; if admitted, the one with the least remaining fraction. The first of equals,
 * but of the two names of a client the current one.
 */
function bindingIndex(
  descriptors: readonly LimitDescriptor[],
  { admitted, states }: TakeResult,
): number {
  let index = -1;
  let strictest = Number.NEGATIVE_INFINITY;
  for (const [i, state] of states.entries()) {
    if (state === undefined) continue;
    const strictness = admitted ? -state.remaining / state.limit : state.retryAfterMs;
    const isEqual = strictness === strictest;
    if (strictness > strictest || (isEqual && isRenamed(descriptors[i], descriptors[index]))) {
      strictest = strictness;
      index = i;
    }
  }
  return index;
}

function isRenamed(current?: LimitDescriptor, previous?: LimitDescriptor): boolean {
  return current?.previousKey !== undefined && current.previousKey === previous?.key;
}
