/** The policies that operators see: those of the policy file, then one for each limit of the rate limit service. */

import type { PolicySet } from '../../core/matching/policy-set.ts';
import type { Policy } from '../../core/policy.ts';

export interface Policies {
  readonly current: PolicySet;
}

export function visiblePolicies(
  policies: Policies,
  ofRateLimits: () => readonly Policy[],
): Policies {
  let known:
    | { readonly set: PolicySet; readonly added: readonly Policy[]; all: PolicySet }
    | undefined;
  return {
    get current() {
      const set = policies.current;
      const added = ofRateLimits();
      if (added.length === 0) return set;
      if (known?.set !== set || known.added !== added) {
        known = { set, added, all: withPolicies(set, added) };
      }
      return known.all;
    },
  };
}

function withPolicies(set: PolicySet, added: readonly Policy[]): PolicySet {
  const names = new Set(added.map(({ name }) => name));
  return {
    ...set,
    policies: [...set.policies, ...added],
    has: (name) => set.has(name) || names.has(name),
  };
}
