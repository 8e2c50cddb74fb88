/** Takes the shares of a call from the store. */
import type { LimitDescriptor } from '../../core/counting/descriptor.ts';
import type { LocalLimiter } from '../../core/counting/local-limiter.ts';
import {
  type QuotaState,
  type QuotaStore,
  StoreError,
  type TakeResult,
} from '../../core/counting/store.ts';
import { RefusedCall } from '../call.ts';
import type { CountedShare } from './counted-share.ts';
import type { Share } from './plan.ts';
import { mergedByKey, withOwnLimit } from './same-key.ts';

export interface CountOptions {
  readonly store: Pick<QuotaStore, 'take'>;
  /** Counts while the store fails. */
  readonly local: LocalLimiter;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
}

/**
 * Takes nothing if a share is blocked. Else takes from all shares that belong together or from none; shares that are alone are taken each by itself. In one turn of
 * the event loop, so a store sends them together. Rejects with a RefusedCall if the store fails and a rule leaves the
 * answer to Envoy.
 */
export function countShares(
  shares: readonly Share[],
  options: CountOptions,
): CountedShare[] | Promise<CountedShare[]> {
  const blocked = shares.filter(({ isBlocked }) => isBlocked);
  if (blocked.length > 0)
    return blocked.map((share) => uncounted(share, 'enforced', options.now()));
  const groups = groupsOf(shares).map((group) => countGroup(group, options));
  if (groups.some((group) => group instanceof Promise)) {
    return Promise.all(groups).then((counted) => counted.flat());
  }
  return (groups as CountedShare[][]).flat();
}

function groupsOf(shares: readonly Share[]): (readonly Share[])[] {
  if (shares.length === 1) return [shares];
  const together = shares.filter(({ isAlone }) => !isAlone);
  const alone = shares.filter(({ isAlone }) => isAlone).map((share) => [share]);
  return together.length === 0 ? alone : [together, ...alone];
}

function countGroup(
  group: readonly Share[],
  options: CountOptions,
): CountedShare[] | Promise<CountedShare[]> {
  const all = group.flatMap((share) => share.descriptors);
  const descriptors = mergedByKey(all);
  const taken = options.store.take(descriptors);
  const conclude = (result: TakeResult) => {
    const counted = statesOf(group, descriptors, result);
    return descriptors === all ? counted : withOwnLimits(counted, descriptors, options.store);
  };
  if (!(taken instanceof Promise)) return conclude(taken);
  return taken.then(
    (result) => {
      const counted = descriptors.filter(isCountedLocally);
      if (result.admitted && counted.length > 0) options.local.record(counted);
      return conclude(result);
    },
    (error: unknown) => {
      if (!(error instanceof StoreError)) throw error;
      return withoutStore(group, descriptors, options);
    },
  );
}

function withOwnLimits(
  counted: CountedShare[],
  descriptors: readonly LimitDescriptor[],
  store: CountOptions['store'],
): CountedShare[] | Promise<CountedShare[]> {
  const own = counted.map((each) => {
    const decided = descriptors.find(({ key }) => key === each.descriptor.key);
    return decided === undefined ? each : withOwnLimit(each, decided, store);
  });
  return own.some((each) => each instanceof Promise) ? Promise.all(own) : (own as CountedShare[]);
}

function statesOf(
  group: readonly Share[],
  descriptors: readonly LimitDescriptor[],
  { admitted, states, nowMs }: TakeResult,
): CountedShare[] {
  return group.map((share) => {
    const own = share.descriptors.map(({ key }) =>
      descriptors.findIndex((each) => each.key === key),
    );
    const index = strictest(own, states);
    const state = states[index];
    const descriptor = share.descriptors[own.indexOf(index)] as LimitDescriptor;
    const isOver = !admitted && state !== undefined && !hasFit(descriptors[index], state);
    return { share, isOver, state, descriptor, nowMs, mode: 'enforced' };
  });
}

/** Of a denied request: whether this descriptor had room for it. */
function hasFit(descriptor: LimitDescriptor | undefined, state: QuotaState): boolean {
  return state.retryAfterMs === 0 || state.taken === descriptor?.cost;
}

/** Of a descriptor's previous and current key, the one that has less left; of equals the current one. */
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

function isCountedLocally({ source }: LimitDescriptor): boolean {
  return source.policy.onStoreFailure === 'local';
}

function withoutStore(
  group: readonly Share[],
  descriptors: readonly LimitDescriptor[],
  { local, now }: CountOptions,
): CountedShare[] {
  if (group.some(leavesFailureToEnvoy)) {
    throw new RefusedCall('unavailable', 'The store failed.');
  }
  const counted = descriptors.filter(isCountedLocally);
  const taken = counted.length === 0 ? undefined : local.take(counted);
  return group.map((share) => {
    const failure = share.counted.policy.onStoreFailure;
    if (failure === 'local' && taken !== undefined) {
      const [found] = statesOf([share], counted, taken) as [CountedShare];
      return { ...found, mode: 'local' };
    }
    return uncounted(share, failure === 'deny' ? 'closed' : 'open', now());
  });
}

/** A limit in shadow mode denies nothing, so it must not make a call fail either. */
function leavesFailureToEnvoy({ counted, isShadow }: Share): boolean {
  return !isShadow && counted.rule.own.onStoreFailure === undefined;
}

function uncounted(share: Share, mode: CountedShare['mode'], nowMs: number): CountedShare {
  const descriptor = share.descriptors.at(-1) as LimitDescriptor;
  return { share, isOver: mode !== 'open', state: undefined, descriptor, nowMs, mode };
}
