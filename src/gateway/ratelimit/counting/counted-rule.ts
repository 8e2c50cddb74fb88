/** What a rule counts, compiled when the configuration is loaded. */
import { LRUCache } from 'lru-cache';
import type { RateLimitSettings } from '../../config/settings/environment.ts';
import { type Algorithm, MAX_LIMIT, type Quota, SHORT_NAMES } from '../../core/counting/store.ts';
import { DAY_MS } from '../../core/identity/salts.ts';
import { compilePolicy, type Limit, type LimitDefinition, type Policy } from '../../core/policy.ts';
import type { CompiledRules } from '../rules/compiled-rules.ts';
import { type Rate, type Rule, type Unit, windowMsOf } from '../rules/rule.ts';

export interface CountingTerms {
  /** `aligned` windows start at multiples of the unit since the epoch, and denied hits count too, as in envoyproxy/ratelimit. */
  readonly windows: RateLimitSettings['windows'];
  readonly isQuota: boolean;
}

export interface CountedRule {
  readonly rule: Rule;
  readonly policy: Policy;
  readonly rate: Rate | undefined;
  /** Counts hits if all limits of a call admit them. */
  readonly limit: Limit;
  /** The same counter, for a descriptor's own hits: what a response has used, which counts even if it does not fit. */
  readonly charge: Limit;
  readonly isQuota: boolean;
  /** Whether its windows are those of envoyproxy/ratelimit: it counts all hits, also denied ones. */
  readonly isAligned: boolean;
}

export interface CountedRules {
  readonly rules: CompiledRules;
  /** Of limits, in the order of the configuration; an unlimited rule has none. */
  readonly policies: readonly Policy[];
  readonly isQuota: boolean;
  of(rule: Rule): CountedRule;
}

const WRITTEN_UNITS: Readonly<Record<Unit, readonly [count: number, unit: string]>> = {
  second: [1, 's'],
  minute: [1, 'min'],
  hour: [1, 'h'],
  day: [1, 'd'],
  week: [7, 'd'],
  month: [30, 'd'],
  year: [365, 'd'],
};

function windowText({ unit, unitMultiplier = 1 }: Rate): string {
  const [count, written] = WRITTEN_UNITS[unit];
  return `${count * unitMultiplier}${written}`;
}

const NO_FACTORS = { unverified: 1, widerNetworks: [] };

export function countRules(rules: CompiledRules, terms: CountingTerms): CountedRules {
  const counted = new Map(rules.all.map((rule) => [rule, countRule(rule, terms)]));
  return {
    rules,
    policies: [...counted.values()].flatMap(({ rate, policy }) =>
      rate === undefined ? [] : [policy],
    ),
    isQuota: terms.isQuota,
    // Every rule that `rules` finds is one of `all`.
    of: (rule) => counted.get(rule) ?? countRule(rule, terms),
  };
}

/**
 * The partition tells the domain and the descriptor, so rules share a counter if they count the same descriptor in the same
 * windows: a limit that a call sets goes on with what the rule counted, and a rule can be renamed.
 */
function countRule(rule: Rule, terms: CountingTerms): CountedRule {
  const { rate = UNUSED, own } = rule;
  const algorithm = algorithmOf(rate, own.algorithm, terms.windows);
  const isAligned = terms.windows === 'aligned' && own.algorithm === undefined;
  const definition: LimitDefinition = {
    per: 'descriptor',
    algorithm,
    limit: rate.requestsPerUnit,
    burst: own.burst ?? rate.requestsPerUnit,
    windowMs: windowMsOf(rate),
    window: windowText(rate),
    countRejected: isAligned,
  };
  const compiled = compilePolicy(
    {
      name: rule.name,
      mode: rule.isShadow ? 'shadow' : (own.mode ?? 'enforce'),
      cost: 1,
      limits: [definition],
      plans: new Map(),
      // Without a mode of its own, a call fails with the store, and Envoy decides.
      onStoreFailure: own.onStoreFailure ?? 'allow',
    },
    NO_FACTORS,
  );
  const limits: Limit[] = [];
  const policy: Policy = { ...compiled, limits };
  const [first] = compiled.limits as [Limit];
  const limit: Limit = {
    ...first,
    quota: algorithm === 'fixed-window' ? first.quota : { ...first.quota, remainder: 'note' },
    policy,
    keySuffix: `}:rl.${definition.windowMs}.${SHORT_NAMES[algorithm]}`,
  };
  limits.push(limit);
  const charge = { ...limit, quota: chargeOf(limit.quota) };
  const isQuota = rule.isQuota || terms.isQuota;
  return { rule, policy, rate: rule.rate, limit, charge, isQuota, isAligned };
}

/** Fixed windows count all charges in full, as envoyproxy/ratelimit does. */
function chargeOf(quota: Quota): Quota {
  if (quota.algorithm === 'fixed-window') return { ...quota, countRejected: true };
  return { ...quota, remainder: 'take' };
}

/** An unlimited rule counts nothing. */
const UNUSED: Rate = { requestsPerUnit: 1, unit: 'second' };

function algorithmOf(
  rate: Rate,
  own: Algorithm | undefined,
  windows: CountingTerms['windows'],
): Algorithm {
  // No other algorithm has a limit of 0.
  if (rate.requestsPerUnit === 0) return 'fixed-window';
  if (own !== undefined) return own;
  const canSlide = windowMsOf(rate) <= DAY_MS && rate.requestsPerUnit <= MAX_LIMIT;
  return windows === 'sliding' && canSlide ? 'sliding-window-log' : 'fixed-window';
}

/** An upstream that names another limit for each request costs one compilation each, and no memory beyond this. */
const MOST_RULES = 1_000;

/** The same domain, number and unit get the same rule, so that they share their counters' quota. */
export function overrideRules(terms: CountingTerms): (domain: string, rate: Rate) => CountedRule {
  const known = new LRUCache<string, CountedRule>({ max: MOST_RULES });
  return (domain, rate) => {
    const key = `${rate.requestsPerUnit}/${windowMsOf(rate)} ${rate.unit} ${domain}`;
    const found = known.get(key);
    if (found !== undefined) return found;
    const counted = countRule(ruleOf(domain, rate), terms);
    known.set(key, counted);
    return counted;
  };
}

function ruleOf(domain: string, rate: Rate) {
  return {
    domain,
    // The number is not part of it: raising a limit keeps its counts, and metrics have one name for all of them.
    name: `${domain}.override`,
    limitName: undefined,
    rate,
    replaces: [],
    isShadow: false,
    isQuota: false,
    metadata: undefined,
    own: {},
  };
}
