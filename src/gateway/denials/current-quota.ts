/** Looks up the limit that denied a client as it is now: the policy file may have changed, and the window has moved on. */

import type { BindingQuota } from '../core/counting/decision.ts';
import { everyLimit } from '../core/counting/every-limit.ts';
import type { QuotaReader } from '../core/counting/store.ts';
import type { Policy } from '../core/policy.ts';
import type { CurrentQuota } from './denial-report.ts';

/** Undefined if no policy has the limit any more. Rejects with a StoreError. */
export async function currentQuota(
  { limit: denied, key }: BindingQuota,
  policies: readonly Policy[],
  reader: QuotaReader,
): Promise<CurrentQuota | undefined> {
  const limits = policies.flatMap(everyLimit);
  const counted = limits.flatMap((limit) => [limit, limit.unverified ?? limit]);
  const same = counted
    .flatMap((each) => [each, ...each.wider])
    .filter(({ label, keySuffix }) => label === denied.label && keySuffix === denied.keySuffix);
  // The limits of plans may share a key.
  const limit = same.find(({ description }) => description === denied.description) ?? same[0];
  if (limit === undefined) return undefined;
  const { states } = await reader.peek([{ key, quota: limit.quota, cost: limit.cost }]);
  const [state] = states;
  return (
    state && {
      allows: limit.description,
      remaining: state.remaining,
      ...(state.limit >= limit.cost && { retry_after_ms: state.retryAfterMs }),
      reset_after_ms: state.resetAfterMs,
    }
  );
}
