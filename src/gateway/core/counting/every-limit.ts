/** Lists the limits of a policy, whichever plan a client has. */
import type { Limit, Policy } from '../policy.ts';

/** The policy's own limits, then those of its plans. */
export function everyLimit({ limits, plans }: Policy): Limit[] {
  return [limits, ...plans.values()].flat();
}
