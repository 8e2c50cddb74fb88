/** Routes: the parts of the traffic that get separate limits. Here they are the policies of a file, matched as a gateway matches. */
import type { CheckRequest } from '../../../gateway/core/check-request.ts';
import type { PolicySet } from '../../../gateway/core/matching/policy-set.ts';
import type { Policy } from '../../../gateway/core/policy.ts';
import { getOrAdd } from '../maps.ts';

export interface Route {
  readonly name: string;
  readonly title: string;
  /** Only routes that were found in the log have one. */
  readonly match: { readonly methods: readonly string[]; readonly path: string } | undefined;
  readonly cost: number;
}

export interface Routes {
  readonly routes: readonly Route[];
  /** The indexes of the routes that requests of a group count for. */
  readonly ofGroup: readonly (readonly number[])[];
}

/** Finds the routes of requests. Those of one group count for the same routes. */
export interface RouteFinder {
  /**
   * The number of the request's group; undefined for a request that a gateway would refuse. `isRefused`: the site
   * answered with an error of the client.
   */
  groupOf(request: CheckRequest, isRefused: boolean): number | undefined;
  /** After the last request. `uses`: the requests of each group that people sent. */
  routes(uses: ArrayLike<number>): Routes;
  /** Requests that are in no route, because their paths were too many. */
  readonly dropped: number;
}

export function findPolicyRoutes(set: PolicySet): RouteFinder {
  const numbers = new Map(set.policies.map((policy, i) => [policy, i]));
  const groups = new Map<Policy | string, number>();
  const ofGroup: number[][] = [];
  return {
    groupOf(request) {
      const policies = set.policiesFor(request);
      const [first] = policies;
      if (first === undefined) return undefined;
      const key = policies.length === 1 ? first : policies.map(({ name }) => name).join(' ');
      return getOrAdd(groups, key, () => {
        const length = ofGroup.push(policies.map((policy) => numbers.get(policy) ?? 0));
        return length - 1;
      });
    },
    dropped: 0,
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
