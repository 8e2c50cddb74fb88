/** Reloads the policies when the policy file, or a file that it refers to, changes. */
import { ConfigError } from '../config/config-error.ts';
import type { PolicySource } from '../config/policy-file/policy-source.ts';
import type { Telemetry } from '../telemetry/telemetry.ts';
import { reloadOnChange } from './reload-on-change.ts';

export function watchPolicies(
  policies: PolicySource,
  events: Telemetry['policyFile'],
): () => Promise<void> {
  return reloadOnChange(policies, (settledMs) => reload(policies, events, settledMs));
}

export function reportPolicies(policies: PolicySource, events: Telemetry['policyFile']): void {
  events.inForce(policies.digest);
  reportNotes(policies, events);
}

export function reportNotes(policies: PolicySource, events: Telemetry['policyFile']): void {
  for (const note of policies.notes) events.note(note);
}

/** If the file has mistakes, the previous policies stay in force. */
async function reload(
  policies: PolicySource,
  events: Telemetry['policyFile'],
  settledMs: number | undefined,
): Promise<void> {
  try {
    const reloaded = await policies.reload(settledMs);
    if (reloaded === undefined) return;
    events.inForce(policies.digest);
    events.loaded(policies.current.policies.length);
    if (reloaded.removed.length > 0) events.removed(reloaded.removed);
    reportNotes(policies, events);
  } catch (error) {
    // A fault in headgate while it reads a file must not end a gateway that works.
    events.refused(error instanceof ConfigError ? error.mistakes : [`cannot be read: ${error}`]);
  }
}
