import type { Group } from '../../core/counting/counting.ts';
import { type LimitDescriptor, named } from '../../core/counting/descriptor.ts';
import { MAX_FIXED_UNITS } from '../../core/counting/store.ts';
import type { Pseudonyms } from '../../core/identity/partition.ts';
import { modeOf, type Overrides } from '../../core/overrides.ts';
import type { Limit } from '../../core/policy.ts';
import {
  type CallDescriptor,
  type LimitOverride,
  type RateLimitCall,
  RefusedCall,
} from '../call.ts';
import { OVERRIDE_UNITS } from '../messages/units.ts';
import { withoutReplaced } from '../rules/compiled-rules.ts';
import { type MatchedRule, type Rate, UNIT_MS, windowMsOf } from '../rules/rule.ts';
import type { CountedRule, CountedRules } from './counted-rule.ts';
import { type CountedEntries, partitionsFor, type SaltsNow } from './partitions.ts';
import { mergedByKey } from './same-key.ts';

export interface Share {
  readonly index: number;
  readonly counted: CountedRule;
  readonly metric: string;
  /** Of the call. A refund has none. */
  readonly hits: number;
  /** Previous pseudonym, where it still matters, then the current one. The client is known by the last. */
  readonly descriptors: readonly LimitDescriptor[];
  readonly isShadow: boolean;
  /** An operator blocked this descriptor: it is denied, and nothing of the call is counted. */
  readonly isBlocked: boolean;
  /** Counted independently of the call's other limits. */
  readonly isAlone: boolean;
}

export interface ShareGroup extends Group {
  readonly shares: readonly Share[];
  /** Several shares have one key, and one descriptor. */
  readonly isMerged: boolean;
}

export interface Planned {
  /** Empty if a share is blocked. */
  readonly groups: readonly ShareGroup[];
  readonly blocked: readonly Share[];
  /** Positions of descriptors that an unlimited rule matches. */
  readonly unlimited: ReadonlySet<number>;
  /** Whether every rule is in quota mode and a descriptor has no limit: as for envoyproxy/ratelimit, a quota with some left. */
  readonly hasOpenQuota: boolean;
  readonly nowMs: number;
}

export interface PlanContext extends SaltsNow {
  readonly rules: CountedRules;
  readonly overrides: Overrides;
  readonly overrideRule: (domain: string, limit: Rate) => CountedRule;
}

const NO_UNLIMITED: ReadonlySet<number> = new Set();

/** Throws a RefusedCall for a call that Envoy does not send. */
export function planCall(call: RateLimitCall, context: PlanContext): Planned {
  const { domain, descriptors } = call;
  const { nowMs } = context;
  if (domain === '') throw new RefusedCall('invalid_argument', 'The domain is empty.');
  if (descriptors.length === 0) {
    throw new RefusedCall('invalid_argument', 'The call has no descriptors.');
  }
  if (!context.rules.rules.hasDomain(domain)) {
    return { groups: [], blocked: [], unlimited: NO_UNLIMITED, hasOpenQuota: false, nowMs };
  }
  const matched = withoutReplaced(
    descriptors.map(({ limit, entries }) =>
      limit === undefined ? context.rules.rules.find(domain, entries) : undefined,
    ),
  );
  const shares: Share[] = [];
  const unlimited = new Set<number>();
  for (const [index, descriptor] of descriptors.entries()) {
    const found = applicable(domain, descriptor, { match: matched[index], context });
    if (found === undefined) continue;
    if (found.counted.rate === undefined) unlimited.add(index);
    else pushShare(shares, { index, call, ...found }, context);
  }
  const hasOpenQuota = context.rules.isQuota && shares.length + unlimited.size < descriptors.length;
  const blocked = shares.filter(({ isBlocked }) => isBlocked);
  const groups = blocked.length > 0 ? [] : groupsOf(shares);
  return { groups, blocked, unlimited, hasOpenQuota, nowMs };
}

function groupsOf(shares: readonly Share[]): ShareGroup[] {
  if (shares.length === 0) return [];
  if (shares.length === 1) return [groupOf(shares)];
  const together = shares.filter(({ isAlone }) => !isAlone);
  if (together.length === shares.length) return [groupOf(shares)];
  const alone = shares.filter(({ isAlone }) => isAlone).map((share) => groupOf([share]));
  return together.length === 0 ? alone : [groupOf(together), ...alone];
}

function groupOf(shares: readonly Share[]): ShareGroup {
  const all = shares.flatMap((share) => share.descriptors);
  const descriptors = mergedByKey(all);
  return {
    shares,
    descriptors,
    isMerged: descriptors !== all,
    // A limit in shadow mode denies nothing, so it must not make a call fail either.
    leavesFailure: shares.some(
      ({ counted, isShadow }) => !isShadow && counted.rule.own.onStoreFailure === undefined,
    ),
  };
}

type Applicable = Pick<Share, 'counted' | 'metric'> & Pick<CountedEntries, 'entries'>;

function applicable(
  domain: string,
  { limit, entries }: CallDescriptor,
  { match, context }: { match: MatchedRule | undefined; context: PlanContext },
): Applicable | undefined {
  if (limit !== undefined) {
    const counted = context.overrideRule(domain, rateOf(limit));
    return { counted, entries, metric: counted.rule.name };
  }
  if (match === undefined) return undefined;
  const { rule, counted: shared, metric } = match;
  return { counted: context.rules.of(rule), entries: shared, metric };
}

const LONGEST_YEARS = 100;

function rateOf({ requestsPerUnit, unit: number, unitMultiplier = 1 }: LimitOverride): Rate {
  const unit = OVERRIDE_UNITS[number];
  if (unit === undefined) {
    throw new RefusedCall('invalid_argument', 'A limit of the call has an unknown unit.');
  }
  const rate = { requestsPerUnit, unit, ...(unitMultiplier !== 1 && { unitMultiplier }) };
  const windowMs = windowMsOf(rate);
  if (windowMs === 0 || windowMs > LONGEST_YEARS * UNIT_MS.year) {
    const wanted = `above 0, and its window at most ${LONGEST_YEARS} years`;
    throw new RefusedCall('invalid_argument', `The unit_multiplier of a limit must be ${wanted}.`);
  }
  return rate;
}

type Found = Applicable & Pick<Share, 'index'> & { readonly call: RateLimitCall };

function pushShare(
  shares: Share[],
  { index, call, counted, entries, metric }: Found,
  context: PlanContext,
): void {
  const mode = modeOf(counted.policy, context.overrides.modes);
  if (mode === 'off') return;
  const { hitsAddend: own, isNegativeHits } = call.descriptors[index] as CallDescriptor;
  // A descriptor's own hits are often already used: Envoy reports what a response has used. So they count up to what is left.
  const isCharge = own !== undefined && own > 0;
  const limit = isCharge ? counted.charge : counted.limit;
  const asked = Math.min(own ?? Math.max(1, call.hitsAddend), MAX_FIXED_UNITS);
  const units = Math.min(asked, mostUnits(limit));
  const cost = isNegativeHits ? -units : units;
  const hits = isNegativeHits ? 0 : asked;
  const partitions = partitionsFor(limit, { domain: call.domain, entries }, context);
  const access = accessOf(partitions, context.overrides);
  if (access === 'exempt') return;
  const descriptors = named(limit, partitions).map((each) => ({
    ...each,
    cost,
    usualCost: each.cost,
  }));
  const isShadow = mode === 'shadow';
  const countsAlways = counted.isAligned || (isCharge && limit.quota.countRejected);
  const isAlone = countsAlways || counted.isQuota || isShadow || isNegativeHits;
  const isBlocked = access === 'blocked';
  shares.push({ index, counted, metric, hits, descriptors, isShadow, isBlocked, isAlone });
}

function accessOf({ current, previous = '' }: Pseudonyms, { access }: Overrides) {
  if (access.size === 0) return undefined;
  const found = [access.get(current), access.get(previous)];
  return found.includes('exempt') ? 'exempt' : found.find((each) => each !== undefined);
}

/** A fixed window counts hits beyond its limit; for others, all numbers above the limit are alike. */
function mostUnits({ quota: { algorithm, burst } }: Limit): number {
  return algorithm === 'fixed-window' ? MAX_FIXED_UNITS : burst + 1;
}
