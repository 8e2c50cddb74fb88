import { LRUCache } from 'lru-cache';
import type { Rate } from '../rules/rule.ts';
import { type CountedRule, type CountingTerms, countRule } from './counted-rule.ts';

/** An upstream that names another limit for each request costs one compilation each, and no memory beyond this. */
const MOST_RULES = 1_000;

/** The same domain, number and unit get the same rule, so that they share their counters' quota. */
export function overrideRules(terms: CountingTerms): (domain: string, rate: Rate) => CountedRule {
  const known = new LRUCache<string, CountedRule>({ max: MOST_RULES });
  return (domain, rate) => {
    const key = `${rate.requestsPerUnit}/${rate.unit} ${domain}`;
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
