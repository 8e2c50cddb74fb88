/** Descriptors of one call that have the same key: the same entries twice. Calls can set limits, so these may differ. */
import type { LimitDescriptor } from '../../core/counting/descriptor.ts';
import {
  type Quota,
  type QuotaState,
  type QuotaStore,
  StoreError,
} from '../../core/counting/store.ts';
import type { CountedShare } from './counted-share.ts';

/** One descriptor for each key, with the hits of all and the strictest of their limits. */
export function mergedByKey(all: readonly LimitDescriptor[]): readonly LimitDescriptor[] {
  if (all.length < 2) return all;
  const byKey = new Map<string, LimitDescriptor>();
  for (const each of all) {
    const known = byKey.get(each.key);
    if (known === undefined) byKey.set(each.key, each);
    else {
      const quota = stricter(known.quota, each.quota);
      byKey.set(each.key, { ...known, quota, cost: known.cost + each.cost });
    }
  }
  return byKey.size === all.length ? all : [...byKey.values()];
}

/** Equal keys have equal algorithms and windows. */
function stricter(one: Quota, other: Quota): Quota {
  const [limit, burst] = [Math.min(one.limit, other.limit), Math.min(one.burst, other.burst)];
  const remainder = other.remainder === 'take' ? other.remainder : one.remainder;
  for (const each of [one, other]) {
    if (each.limit === limit && each.burst === burst && each.remainder === remainder) return each;
  }
  return { ...one, limit, burst, ...(remainder !== undefined && { remainder }) };
}

/** A share whose limit is not the one that decided gets the state of its own limit. */
export function withOwnLimit(
  counted: CountedShare,
  decided: LimitDescriptor,
  store: Pick<QuotaStore, 'take'>,
): CountedShare | Promise<CountedShare> {
  const { descriptor, state } = counted;
  if (state === undefined || descriptor.quota === decided.quota) return counted;
  const { remainder: _none, ...quota } = descriptor.quota;
  const read = store.take([{ ...descriptor, quota, cost: 0 }]);
  const own = (found: QuotaState | undefined): CountedShare => {
    if (found === undefined) return counted;
    const isOver = counted.isOver && found.remaining < decided.cost;
    return { ...counted, isOver, state: isOver ? { ...state, limit: found.limit } : found };
  };
  if (!(read instanceof Promise)) return own(read.states[0]);
  return read.then(
    ({ states }) => own(states[0]),
    (error: unknown) => {
      if (!(error instanceof StoreError)) throw error;
      return counted;
    },
  );
}
