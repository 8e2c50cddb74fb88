/** Limits that another one always undercuts. */
import { MAX_LIMIT } from '../../core/store.ts';
import type { ValidFile } from '../policy-file/compile.ts';
import { prefixesOf } from '../policy-file/identity-config.ts';
import type { IdentitySection } from '../policy-file/identity-schema.ts';
import { type DefaultEntry, type LimitEntry, limitLists } from '../policy-file/policy-schema.ts';
import type { Remark } from '../unplaced-diagnostic.ts';
import type { Path } from '../yaml-text.ts';

export function adviceOnLimits({ identity, fallback, entries }: ValidFile): Remark[] {
  return [
    ...neverBinding(fallback, ['default'], identity),
    ...entries.flatMap((entry, i) => neverBinding(entry, ['policies', i], identity)),
  ];
}

function neverBinding(entry: DefaultEntry, at: Path, identity: IdentitySection): Remark[] {
  const lists = limitLists(entry, at);
  const all = lists.map(({ limits }) => limits);
  return lists.flatMap(({ limits, path }) =>
    limits.flatMap((limit, index) => {
      const other = limits.find((each) => undercuts(each, limit, all, identity));
      if (other === undefined) return [];
      const message = `never denies what ${other.rate.limit}/${other.rate.window} lets through, remove it`;
      return [{ rule: 'limit-never-binds', path: [...path, index], message }];
    }),
  );
}

/**
 * Whether nothing that one limit admits is more than the other would. A window of the other is covered by so many
 * windows of the one, each with at most its limit in it; that holds if both see the same requests, and only of exact
 * windows. Lists are those of all plans: what is counted per address is counted together.
 */
function undercuts(
  one: LimitEntry,
  other: LimitEntry,
  lists: readonly (readonly LimitEntry[])[],
  identity: IdentitySection,
): boolean {
  if (one === other || one.per !== other.per || !isExact(one) || !isExact(other)) return false;
  const windows = Math.ceil(other.rate.windowMs / one.rate.windowMs);
  if (one.rate.limit * windows > other.rate.limit) return false;
  const shared = lists.filter((list) => list.some((each) => isCountedAs(each, other)));
  // One that counts what is denied holds more than was admitted.
  if (shared.flat().some((each) => isCountedAs(each, other) && each.count_rejected)) return false;
  const ones = shared.map((list) => list.find((each) => isCountedAs(each, one)));
  if (ones.includes(undefined)) return false;
  // Whatever the other counts, the one counts as well.
  if (windows === 1) return true;
  const most = Math.max(...ones.map((each) => each?.rate.limit ?? Number.POSITIVE_INFINITY));
  const claimed = isClaimed(one, identity) ? identity.api_key.unverified_factor : 1;
  const widest = Math.max(...prefixesOf(identity).map(({ factor }) => factor));
  return (
    // An address is counted together for requests with claims, which may be more, and for those without.
    most * claimed * windows <= other.rate.limit &&
    // Beyond that, factors no longer raise a limit.
    other.rate.limit * claimed * widest <= MAX_LIMIT
  );
}

function isExact({ algorithm }: LimitEntry): boolean {
  return algorithm === 'sliding-window-log';
}

/** Whether they count under the same name. */
function isCountedAs(one: LimitEntry, other: LimitEntry): boolean {
  return (
    one.per === other.per &&
    one.algorithm === other.algorithm &&
    one.rate.windowMs === other.rate.windowMs
  );
}

/** Whether it may go by what anybody can make up; then it counts for the address too, with a higher limit. */
function isClaimed({ per }: LimitEntry, { sources }: IdentitySection): boolean {
  return (
    per.startsWith('header:') ||
    ((per === 'client' || per === 'api_key') && sources.includes('api_key'))
  );
}
