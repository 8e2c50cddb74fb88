/** Reads files again when they change, or on demand, one time after the other. */
import { ConfigError } from '../config/diagnostic.ts';
import { type Watched, watchFiles } from '../config/file-watch.ts';
import type { PolicySource } from '../config/policy-file/policy-source.ts';
import type { Telemetry } from '../telemetry/telemetry.ts';

interface Reloading {
  /** `settledMs`: how long the files have not changed; undefined: on demand. */
  readonly reload: (settledMs?: number) => Promise<void>;
  /** The files cannot be read, or have mistakes: what was read before stays in force. */
  readonly refused: (mistakes: readonly string[]) => void;
}

/** The function that this returns reloads the files at once, and resolves when that is done. */
export function reloadOnChange(
  watched: Watched,
  { reload, refused }: Reloading,
): () => Promise<void> {
  let running: Promise<void> | undefined;
  let isDemanded = false;
  const attempt = async (settledMs?: number) => {
    try {
      await reload(settledMs);
    } catch (error) {
      // A fault in headgate while it reads a file must not end a gateway that works.
      refused(error instanceof ConfigError ? error.mistakes : [`cannot be read: ${error}`]);
    }
  };
  const run = async (settledMs?: number) => {
    await attempt(settledMs);
    while (isDemanded) {
      isDemanded = false;
      await attempt();
    }
    running = undefined;
  };
  watchFiles(watched, (settledMs) => {
    running ??= run(settledMs);
    return running;
  });
  return () => {
    // The files may have changed since the running reload read them.
    isDemanded = running !== undefined;
    running ??= run();
    return running;
  };
}

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
