/** What becomes of requests while the store does not count. */
import type { Policy, StoreFailureMode } from './policy.ts';

/** Names of policies for each `on_store_failure`. A policy that is not enforced is left out: it denies nobody anyway. */
export type PoliciesByFailureMode = Readonly<Record<StoreFailureMode, readonly string[]>>;

export function byFailureMode(policies: readonly Policy[]): PoliciesByFailureMode {
  const namesOf = (mode: StoreFailureMode) =>
    policies
      .filter((policy) => policy.mode === 'enforce' && policy.onStoreFailure === mode)
      .map(({ name }) => name);
  return { allow: namesOf('allow'), local: namesOf('local'), deny: namesOf('deny') };
}
