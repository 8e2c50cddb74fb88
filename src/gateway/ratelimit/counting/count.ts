import type { CheckSpan, Count } from '../../core/counting/counting.ts';
import type { Counted } from '../../core/counting/decision.ts';
import type { LimitDescriptor } from '../../core/counting/descriptor.ts';
import { type QuotaState, StoreError, type TakeResult } from '../../core/counting/store.ts';
import type { Share, ShareGroup } from './plan.ts';

export interface CountedShare {
  readonly share: Share;
  readonly isOverLimit: boolean;
  /** Undefined if nothing was measured: the store failed, or an operator blocked a descriptor. */
  readonly state: QuotaState | undefined;
}

export interface CountedGroup extends Counted {
  readonly shares: readonly CountedShare[];
}

export type CountGroups = (
  groups: readonly ShareGroup[],
  span: CheckSpan | undefined,
) => readonly CountedGroup[] | Promise<readonly CountedGroup[]>;

/** All groups are counted in one turn of the event loop, so a store sends them together. Rejects with a StoreError. */
export function createGroupCounting(count: Count): CountGroups {
  const countGroup = (group: ShareGroup, span: CheckSpan | undefined) =>
    count(group, (counted) => withOwnLimits(group, countedGroup(group, counted), count), span);
  return (groups, span) => together(groups.map((group) => countGroup(group, span)));
}

/** A promise only if one of the values is one. */
function together<T>(values: T[]): Awaited<T>[] | Promise<Awaited<T>[]> {
  const isLate = values.some((each) => each instanceof Promise);
  return isLate ? Promise.all(values) : (values as Awaited<T>[]);
}

function countedGroup(group: ShareGroup, counted: Counted): CountedGroup {
  return { ...counted, shares: group.shares.map((share) => countedShare(share, counted)) };
}

function countedShare(share: Share, { descriptors, result, mode }: Counted): CountedShare {
  const { onStoreFailure } = share.counted.policy;
  if (result === undefined || (mode === 'local' && onStoreFailure !== 'local')) {
    const isOverLimit = mode === 'closed' && onStoreFailure === 'deny';
    return { share, isOverLimit, state: undefined };
  }
  const own = share.descriptors.map(({ key }) => descriptors.findIndex((each) => each.key === key));
  const index = strictest(own, result.states);
  const state = result.states[index];
  const isOverLimit = !result.admitted && state !== undefined && !hasFit(descriptors[index], state);
  return { share, isOverLimit, state };
}

function hasFit(descriptor: LimitDescriptor | undefined, state: QuotaState): boolean {
  return state.retryAfterMs === 0 || state.taken === descriptor?.cost;
}

/** The position of the descriptor with less left: the one under the previous or that under the current key; of equals the current one. */
function strictest(indexes: readonly number[], states: TakeResult['states']): number {
  let found = indexes.at(-1) ?? 0;
  for (const index of indexes) {
    const state = states[index];
    const least = states[found];
    if (state === undefined) continue;
    // A cluster does not count under the current name if the previous one denies.
    if (least === undefined || state.remaining < least.remaining) found = index;
    else if (state.remaining === least.remaining && state.retryAfterMs > least.retryAfterMs) {
      found = index;
    }
  }
  return found;
}

/** Shares whose limit is not the one that decided get the state of their own limit: another check reads it. */
function withOwnLimits(
  group: ShareGroup,
  counted: CountedGroup,
  count: Count,
): CountedGroup | Promise<CountedGroup> {
  if (!group.isMerged || counted.result === undefined) return counted;
  const own = together(counted.shares.map((each) => withOwnLimit(each, group, count)));
  const withShares = (shares: readonly CountedShare[]) => ({ ...counted, shares });
  return own instanceof Promise ? own.then(withShares) : withShares(own);
}

function withOwnLimit(
  counted: CountedShare,
  { descriptors }: ShareGroup,
  count: Count,
): CountedShare | Promise<CountedShare> {
  const { share, isOverLimit, state } = counted;
  const descriptor = share.descriptors.at(-1) as LimitDescriptor;
  const decided = descriptors.find(({ key }) => key === descriptor.key);
  if (state === undefined || decided === undefined || decided.quota === descriptor.quota) {
    return counted;
  }
  const { remainder: _none, ...quota } = descriptor.quota;
  const own = count(
    { descriptors: [{ ...descriptor, quota, cost: 0 }], leavesFailure: true },
    ({ result }) => {
      const [found] = result?.states ?? [];
      if (found === undefined) return counted;
      const isOver = isOverLimit && found.remaining < decided.cost;
      const ownState = isOver ? { ...state, limit: found.limit } : found;
      return { share, isOverLimit: isOver, state: ownState };
    },
  );
  if (!(own instanceof Promise)) return own;
  return own.catch((error: unknown) => {
    if (!(error instanceof StoreError)) throw error;
    return counted;
  });
}
