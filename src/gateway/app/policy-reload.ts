/** Reloads the policies when the policy file, or a file that it refers to, changes. */
import type { PolicySource } from '../config/policy-file/policy-source.ts';
import type { Telemetry } from '../telemetry/telemetry.ts';
import { reloadOnChange } from './reload-on-change.ts';

export function watchPolicies(
  policies: PolicySource,
  events: Telemetry['policyFile'],
): () => Promise<void> {
  return reloadOnChange(policies, {
    async reload(settledMs) {
      const reloaded = await policies.reload(settledMs);
      if (reloaded === undefined) return;
      events.inForce(policies.digest);
      events.loaded(policies.current.policies.length);
      if (reloaded.removed.length > 0) events.removed(reloaded.removed);
      reportNotes(policies, events);
    },
    refused: events.refused,
  });
}

export function reportPolicies(policies: PolicySource, events: Telemetry['policyFile']): void {
  events.inForce(policies.digest);
  reportNotes(policies, events);
}

export function reportNotes(policies: PolicySource, events: Telemetry['policyFile']): void {
  for (const note of policies.notes) events.note(note);
}
