/** Overrides: temporary changes by operators, which take precedence over the policy file. */
import type { Access } from './identity/access-lists.ts';
import type { Policy, PolicyMode } from './policy.ts';

/** The overrides in force. Every change replaces the whole object; expired overrides are removed. */
export interface Overrides {
  /** Access by partition: of an API key, a user, an address or a network. */
  readonly access: ReadonlyMap<string, Access>;
  /** When each of them was made, milliseconds since the epoch. */
  readonly sinceMs?: ReadonlyMap<string, number>;
  /** Mode by policy name. */
  readonly modes: PolicyModes;
  /** Whether an override names an address by a pseudonym under the 31-day salts. */
  readonly hasLongAddresses: boolean;
}

export type PolicyModes = ReadonlyMap<string, PolicyMode>;

export const NO_OVERRIDES: Overrides = {
  access: new Map(),
  modes: new Map(),
  hasLongAddresses: false,
};

/** The mode of a policy: the override's, or that of the policy file. */
export function modeOf({ name, mode }: Policy, modes: PolicyModes): PolicyMode {
  return modes.size === 0 ? mode : (modes.get(name) ?? mode);
}
