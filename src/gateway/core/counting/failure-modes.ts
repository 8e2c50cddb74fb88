import type { Policy, StoreFailureMode } from '../policy.ts';

/** The names of enforced policies for each value of `on_store_failure`. Other policies deny nobody, so they are left out. */
export type PoliciesByFailureMode = Readonly<Record<StoreFailureMode, readonly string[]>>;

export function byFailureMode(policies: readonly Policy[]): PoliciesByFailureMode {
  const namesOf = (mode: StoreFailureMode) =>
    policies
      .filter((policy) => policy.mode === 'enforce' && policy.onStoreFailure === mode)
      .map(({ name }) => name);
  return { allow: namesOf('allow'), local: namesOf('local'), deny: namesOf('deny') };
}
