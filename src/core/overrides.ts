/** What operators decide while the gateway runs, for a time: it goes before the policy file. */

import type { Access } from './access-lists.ts';
import type { Policy, PolicyMode } from './policy.ts';

/** A snapshot, replaced as a whole. What is over is not in it any more. */
export interface Overrides {
  /** By the partition of an API key, a user, an address or a network. */
  readonly access: ReadonlyMap<string, Access>;
  /** By the name of the policy. */
  readonly modes: PolicyModes;
  /** Whether it names an address under the salts that change every 31 days. */
  readonly hasLongAddresses: boolean;
}

export type PolicyModes = ReadonlyMap<string, PolicyMode>;

export const NO_OVERRIDES: Overrides = {
  access: new Map(),
  modes: new Map(),
  hasLongAddresses: false,
};

/** The mode that a policy is in: an operator's, else that of the file. */
export function modeOf({ name, mode }: Policy, modes: PolicyModes): PolicyMode {
  return modes.size === 0 ? mode : (modes.get(name) ?? mode);
}
