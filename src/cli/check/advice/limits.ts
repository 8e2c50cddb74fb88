/** Advice on limits that never deny a request, because another limit always denies it first. */
import type { DiagnosticDraft } from '../../../gateway/config/diagnostic.ts';
import {
  everyEntry,
  type IdentitySection,
  type LimitEntry,
  limitLists,
  type PlacedEntry,
  prefixesOf,
  type ValidFile,
} from '../../../gateway/config/policy-file/valid-file.ts';
import { MAX_LIMIT } from '../../../gateway/core/counting/store.ts';

export function adviceOnLimits(file: ValidFile): DiagnosticDraft[] {
  return everyEntry(file).flatMap((placed) => neverBinding(placed, file.identity));
}

function neverBinding({ entry, at }: PlacedEntry, identity: IdentitySection): DiagnosticDraft[] {
  const lists = limitLists(entry, at);
  const all = lists.map(({ limits }) => limits);
  return lists.flatMap(({ limits, path }) =>
    limits.flatMap((limit, index) => {
      const other = limits.find((each) => undercuts(each, limit, { lists: all, identity }));
      if (other === undefined) return [];
      const message = `never denies a request that ${other.rate.limit}/${other.rate.window} admits, remove it`;
      return [{ rule: 'limit-never-binds', path: [...path, index], message }];
    }),
  );
}

interface LimitContext {
  /** The limits of the policy and of each plan: what is counted per address is counted for all of them together. */
  readonly lists: readonly (readonly LimitEntry[])[];
  readonly identity: IdentitySection;
}

/**
 * Whether `other` admits every request that `one` admits. A window of `other` is covered by a number of windows of
 * `one`, and each of these admits at most the limit of `one`. This holds for exact windows that count the same requests.
 */
function undercuts(one: LimitEntry, other: LimitEntry, { lists, identity }: LimitContext): boolean {
  if (one === other || one.per !== other.per || !isExact(one) || !isExact(other)) return false;
  // A limit that refunds counts fewer requests.
  if (one.refund !== undefined) return false;
  const windows = Math.ceil(other.rate.windowMs / one.rate.windowMs);
  if (one.rate.limit * windows > other.rate.limit) return false;
  const shared = lists.filter((list) => list.some((each) => isCountedAs(each, other)));
  // With count_rejected, the window holds more than was admitted.
  if (shared.flat().some((each) => isCountedAs(each, other) && each.count_rejected)) return false;
  const ones = shared.map((list) => list.find((each) => isCountedAs(each, one)));
  if (ones.includes(undefined)) return false;
  if (windows === 1) return true;
  const highest = Math.max(...ones.map((each) => each?.rate.limit ?? Number.POSITIVE_INFINITY));
  const claimed = isClaimed(one, identity) ? identity.api_key.unverified_factor : 1;
  const widest = Math.max(...prefixesOf(identity).map(({ factor }) => factor));
  return (
    // An address has one counter for requests with unverified claims, whose limit is higher, and for those without.
    highest * claimed * windows <= other.rate.limit &&
    // Above this, MAX_LIMIT caps the factors.
    other.rate.limit * claimed * widest <= MAX_LIMIT
  );
}

function isExact({ algorithm }: LimitEntry): boolean {
  return algorithm === 'sliding-window-log';
}

function isCountedAs(one: LimitEntry, other: LimitEntry): boolean {
  return (
    one.per === other.per &&
    one.algorithm === other.algorithm &&
    one.rate.windowMs === other.rate.windowMs
  );
}

/** Whether clients can invent the counted value. Then it counts for the address too, with a higher limit. */
function isClaimed({ per }: LimitEntry, { sources }: IdentitySection): boolean {
  return (
    per.startsWith('header:') ||
    ((per === 'client' || per === 'api_key') && sources.includes('api_key'))
  );
}
