/** A decision about a request. The dialect turns it into an answer for its proxy. */
import type { AnswerStyle, HeaderForm } from '../answer-style.ts';
import type { ClientAccess } from '../identity/access-lists.ts';
import type { AddressPartition } from '../identity/partition.ts';
import type { Limit, Policy } from '../policy.ts';
import type { LimitDescriptor } from './descriptor.ts';
import { fractionLeft, type QuotaState, type TakeResult } from './store.ts';

type Verdict = 'allow' | 'deny';

/** Measured in the store (`enforced`), in this process (`local`), or not at all because the store failed. */
type DecisionMode = 'enforced' | 'local' | 'open' | 'closed';

export interface Counted {
  readonly descriptors: readonly LimitDescriptor[];
  /** Undefined in the modes `open` and `closed`. */
  readonly result: TakeResult | undefined;
  readonly mode: DecisionMode;
}

export interface BindingQuota {
  readonly limit: Limit;
  readonly state: QuotaState;
  /** The clock of the store, in milliseconds since the epoch. */
  readonly nowMs: number;
  /** The store key. It is opaque, and the same for all requests of one client. */
  readonly key: string;
  /** The limit is lower than what the request costs, so no wait helps. */
  readonly isNeverMet?: true;
}

export interface ByUnit {
  readonly requests?: BindingQuota | undefined;
  readonly tokens?: BindingQuota | undefined;
}

export interface Denial extends Denied {
  readonly id: string;
  readonly traceId?: string | undefined;
}

export interface Denied {
  readonly client: string;
  /** An API key that is not listed: the client may have invented it. */
  readonly isMadeUp: boolean;
  readonly address: AddressPartition;
  /** `api_key`, `user`, `ip`, or the kind of an address header. */
  readonly identity: string;
  readonly accessBy?: ClientAccess | undefined;
}

export interface Decision {
  readonly verdict: Verdict;
  readonly reason:
    | 'within_limits'
    | 'over_limit'
    | 'malformed_path'
    | 'malformed_host'
    | 'malformed_mcp'
    | 'ambiguous_identity'
    | 'store_failure'
    | 'exempt'
    | 'blocked'
    | 'not_enforced';
  readonly mode: DecisionMode;
  /** The name of the policy that decided; `none` if the request was decided before policies were looked at. */
  readonly policy: string;
  readonly binding: BindingQuota | undefined;
  readonly limits: readonly Limit[];
  /** In place of the binding limit, the strictest one of each unit; none if the most specific policy hides its numbers. */
  readonly byUnit?: ByUnit;
  /** What an allowed client is told in place of a binding limit that is hidden. */
  readonly shown?: BindingQuota | undefined;
  readonly hidesPolicy?: boolean;
  readonly denial?: Denial;
  /** How the answer looks, if the request was denied. Undefined: as the policy file says for all. */
  readonly answers?: AnswerStyle | undefined;
  /** Only for the proxy and the application: with it, they report what the request turned out to cost. */
  readonly settleToken?: string | undefined;
  /** Nothing was counted again. */
  readonly isRepeated?: true;
}

export const MALFORMED_PATH = uncounted('deny', 'malformed_path');
export const MALFORMED_MCP = uncounted('deny', 'malformed_mcp');
export const MALFORMED_HOST = uncounted('deny', 'malformed_host');
export const AMBIGUOUS_IDENTITY = uncounted('deny', 'ambiguous_identity');
export const EXEMPT = uncounted('allow', 'exempt');
export const BLOCKED = uncounted('deny', 'blocked');

export function notEnforced({ name }: Policy): Decision {
  return uncounted('allow', 'not_enforced', name);
}

export function uncounted(verdict: Verdict, reason: Decision['reason'], policy = 'none'): Decision {
  return { verdict, reason, mode: 'enforced', policy, binding: undefined, limits: [] };
}

/** There is at least one group. `form` is that of the most specific policy. Throws a RangeError if a store gave no state. */
export function decide(
  groups: readonly Counted[],
  isDenied = groups.some(isDenying),
  form: HeaderForm = 'standard',
): Decision {
  const binding = bindingIn(groups, isDenied);
  if (binding === undefined) return withoutCount(groups, isDenied);
  const { descriptor, state, group } = binding;
  const quota = quotaOf(binding);
  const decision: Decision = {
    verdict: isDenied ? 'deny' : 'allow',
    reason: isDenied ? 'over_limit' : 'within_limits',
    mode: group.mode,
    policy: descriptor.source.policy.name,
    binding: isDenied && state.limit < descriptor.cost ? { ...quota, isNeverMet: true } : quota,
    limits: limitsOf(groups),
  };
  if (form !== 'standard')
    return { ...decision, byUnit: form === 'off' ? {} : byUnit(groups, quota) };
  if (isDenied || descriptor.source.policy.headers !== 'off') return decision;
  // Without any headers, clients would learn when the hidden limit has less left than the others.
  const shown = bindingIn(groups, false, ({ policy }) => policy.headers !== 'off');
  return { ...decision, shown: shown && quotaOf(shown) };
}

function quotaOf({ descriptor, state, group }: Binding): BindingQuota {
  const { source, key } = descriptor;
  return { limit: source, state, nowMs: group.result?.nowMs ?? 0, key };
}

/** Of the unit of the binding limit it is that one, so that a denial tells why. */
function byUnit(groups: readonly Counted[], binding: BindingQuota): ByUnit {
  const strictest = (unit: string | undefined): BindingQuota | undefined => {
    const isShown = ({ policy, afterwards }: Limit) =>
      policy.headers !== 'off' && afterwards?.unit === unit;
    if (isShown(binding.limit)) return binding;
    const found = bindingIn(groups, false, isShown);
    return found && quotaOf(found);
  };
  return { requests: strictest(undefined), tokens: strictest('tokens') };
}

function isDenying({ result, mode }: Counted): boolean {
  return mode === 'closed' || result?.admitted === false;
}

/** Decisions are kept for seconds, and an array that grows by `push` takes five times the memory. */
function limitsOf([group, ...others]: readonly Counted[]): Limit[] {
  const limits = group?.descriptors.map(({ source }) => source) ?? [];
  return others.length === 0 ? limits : limits.concat(limitsOf(others));
}

function withoutCount(groups: readonly Counted[], isDenied: boolean): Decision {
  const group = groups.find(({ mode }) => mode === (isDenied ? 'closed' : 'open'));
  const policy = group?.descriptors[0]?.source.policy;
  if (policy === undefined) {
    throw new RangeError('a take must answer for every descriptor, and there must be one');
  }
  return unmeasured(isDenied ? 'closed' : 'open', policy);
}

export function unmeasured(mode: 'open' | 'closed', { name, headers }: Policy): Decision {
  const decision = uncounted(mode === 'open' ? 'allow' : 'deny', 'store_failure', name);
  return { ...decision, mode, hidesPolicy: headers === 'off' };
}

interface Binding {
  readonly descriptor: LimitDescriptor;
  readonly state: QuotaState;
  readonly group: Counted;
}

/**
 * If denied, the limit of a denying group with the longest wait; if admitted, the one with the least remaining fraction. The
 * first of equals, but of the two names of a client the one with less remaining, or else the current one.
 */
function bindingIn(
  groups: readonly Counted[],
  isDenied: boolean,
  isMeant?: (limit: Limit) => boolean,
): Binding | undefined {
  let binding: Binding | undefined;
  let strictest = Number.NEGATIVE_INFINITY;
  for (const group of groups) {
    if (group.result === undefined || (isDenied && group.result.admitted)) continue;
    const { states } = group.result;
    for (let i = 0; i < states.length; i++) {
      const [descriptor, state] = [group.descriptors[i], states[i]];
      if (state === undefined || descriptor === undefined) continue;
      if (isMeant?.(descriptor.source) === false) continue;
      const strictness = isDenied ? waitOf(state, descriptor) : -fractionLeft(state);
      const isEqual = strictness === strictest;
      if (strictness > strictest || (isEqual && isNoLessStrict(descriptor, state, binding))) {
        strictest = strictness;
        binding = { descriptor, state, group };
      }
    }
  }
  return binding;
}

function waitOf({ limit, retryAfterMs }: QuotaState, { cost }: LimitDescriptor): number {
  return limit < cost ? Number.POSITIVE_INFINITY : retryAfterMs;
}

/** Whether it is the current name of the client whose previous one is `other`, with no more remaining. */
function isNoLessStrict(
  { previousKey }: LimitDescriptor,
  { remaining }: QuotaState,
  other: Binding | undefined,
): boolean {
  if (previousKey === undefined || previousKey !== other?.descriptor.key) return false;
  return remaining <= other.state.remaining;
}
