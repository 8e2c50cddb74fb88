/** Looks up the limit that denied a client as it is now: the policy file may have changed, and the window has moved on. */
import type { BindingQuota } from '../core/counting/decision.ts';
import { descriptor, type LimitDescriptor, partitionOf } from '../core/counting/descriptor.ts';
import { describeAfterwards } from '../core/counting/limit-text.ts';
import type { QuotaReader, QuotaState } from '../core/counting/store.ts';
import { everyLimit, formsOf, type Limit, type Policy } from '../core/policy.ts';
import type { CurrentQuota } from '../denials/denial-report.ts';
import { PARTITION } from './client-name.ts';

/** Undefined if no policy has the limit any more. Rejects with a StoreError. */
export async function currentQuota(
  { limit: denied, key }: BindingQuota,
  policies: readonly Policy[],
  reader: QuotaReader,
): Promise<CurrentQuota | undefined> {
  const same = policies
    .flatMap(everyLimit)
    .flatMap(formsOf)
    .filter(({ label, keySuffix }) => label === denied.label && keySuffix === denied.keySuffix);
  // The limits of plans may share a key.
  const limit = same.find(({ description }) => description === denied.description) ?? same[0];
  if (limit === undefined) return undefined;
  const { states } = await reader.peek([descriptor(limit, partitionOf(key))]);
  return states[0] && quotaReport(limit, states[0]);
}

export function quotaReport(
  { description, cost, afterwards }: Limit,
  state: QuotaState,
): CurrentQuota {
  return {
    allows: description + describeAfterwards(afterwards),
    remaining: state.remaining,
    ...(state.limit >= cost && { retry_after_ms: state.retryAfterMs }),
    reset_after_ms: state.resetAfterMs,
  };
}

/** Another gateway says what it counted. None if no policy has the limit any more. */
export function limitLabelled(
  label: string,
  counted: string,
  policies: readonly Policy[],
): LimitDescriptor[] {
  if (!PARTITION.test(counted)) return [];
  const limits = policies.flatMap(everyLimit).flatMap(formsOf);
  const limit = limits.find((each) => each.label === label);
  return limit === undefined ? [] : [descriptor(limit, counted)];
}
