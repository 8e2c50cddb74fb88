/** Decides requests that the store did not count, by `on_store_failure` of their policies. */

import type { Policy } from '../policy.ts';
import { type Decision, decide, unmeasured } from './decision.ts';
import type { LimitDescriptor } from './descriptor.ts';
import type { LocalLimiter } from './local-limiter.ts';

/** The strictest mode decides: `deny`, then `local`, then `allow`. There is at least one policy. */
export function decideWithoutStore(
  policies: readonly Policy[],
  descriptors: readonly LimitDescriptor[],
  local: LocalLimiter,
): Decision {
  const closed = policies.find((policy) => policy.onStoreFailure === 'deny');
  if (closed !== undefined) return unmeasured('closed', closed);
  const counted = descriptors.filter(isCountedLocally);
  if (counted.length === 0) return unmeasured('open', policies[0] as Policy);
  return decide(counted, local.take(counted), 'local');
}

/** Whether the policy of a limit has `on_store_failure: local`. */
export function isCountedLocally({ source }: LimitDescriptor): boolean {
  return source.policy.onStoreFailure === 'local';
}
