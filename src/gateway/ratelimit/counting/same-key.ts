/** Descriptors of one call that have the same key: the same entries twice. Calls can set limits, so these may differ. */
import type { LimitDescriptor } from '../../core/counting/descriptor.ts';
import type { Quota } from '../../core/counting/store.ts';

/** One descriptor for each key, with the hits of all and the strictest of their limits. */
export function mergedByKey(all: readonly LimitDescriptor[]): readonly LimitDescriptor[] {
  if (all.length < 2) return all;
  const byKey = new Map<string, LimitDescriptor>();
  for (const each of all) {
    const known = byKey.get(each.key);
    if (known === undefined) byKey.set(each.key, each);
    else {
      const quota = stricter(known.quota, each.quota);
      const { source } = quota === each.quota ? each : known;
      byKey.set(each.key, { ...known, source, quota, cost: known.cost + each.cost });
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
