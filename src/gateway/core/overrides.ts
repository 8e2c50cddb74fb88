import type { Access } from './identity/access-lists.ts';
import type { Policy, PolicyMode } from './policy.ts';

/** The overrides in force. Every change replaces the whole object; expired overrides are removed. */
export interface Overrides {
  /** The keys are partitions of API keys, users, addresses and networks. */
  readonly access: ReadonlyMap<string, Access>;
  /** Milliseconds since the epoch. */
  readonly sinceMs?: ReadonlyMap<string, number>;
  readonly modes: PolicyModes;
  /** An override names an address by a pseudonym under the 31-day salts. */
  readonly hasLongAddresses: boolean;
}

export type PolicyModes = ReadonlyMap<string, PolicyMode>;

export const NO_OVERRIDES: Overrides = {
  access: new Map(),
  modes: new Map(),
  hasLongAddresses: false,
};

export function modeOf({ name, mode }: Policy, modes: PolicyModes): PolicyMode {
  return modes.size === 0 ? mode : (modes.get(name) ?? mode);
}
