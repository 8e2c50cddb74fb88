/** Routes by the policies of a file, matched as a gateway matches. */

import type { PolicySet } from '../../../gateway/core/matching/policy-set.ts';
import type { Policy } from '../../../gateway/core/policy.ts';
import type { RouteFinder } from './route.ts';

export function findPolicyRoutes(set: PolicySet): RouteFinder {
  const numbers = new Map(set.policies.map((policy, i) => [policy, i]));
  const single = new Map<Policy, number>();
  const several = new Map<string, number>();
  const ofGroup: number[][] = [];
  const add = (policies: readonly Policy[]) =>
    ofGroup.push(policies.map((policy) => numbers.get(policy) ?? 0)) - 1;
  return {
    groupOf(request) {
      const policies = set.policiesFor(request);
      const [first] = policies;
      if (first === undefined) return undefined;
      if (policies.length === 1) {
        const known = single.get(first) ?? add(policies);
        single.set(first, known);
        return known;
      }
      const names = policies.map(({ name }) => name).join(' ');
      const known = several.get(names) ?? add(policies);
      several.set(names, known);
      return known;
    },
    routes: () => ({
      ofGroup,
      routes: set.policies.map(({ name, limits }) => ({
        name,
        title: name,
        match: undefined,
        cost: limits[0]?.cost ?? 1,
      })),
    }),
  };
}
