import type { Policy } from '../policy.ts';

/** The policy with the lowest rate of requests in a limit that is not global; the first one if there is none. */
export function strictestOf(
  policies: readonly Policy[],
  isEnforced = ({ mode }: Policy) => mode === 'enforce',
): Policy | undefined {
  let strictest: Policy | undefined;
  let lowestRate = Number.POSITIVE_INFINITY;
  for (const policy of policies) {
    if (!isEnforced(policy)) continue;
    for (const limit of policy.limits) {
      const rate = limit.quota.limit / limit.cost / limit.quota.windowMs;
      if (limit.per !== 'global' && rate < lowestRate) {
        lowestRate = rate;
        strictest = policy;
      }
    }
  }
  return strictest ?? policies[0];
}
