/** Puts in force what changes in the policy file and the files that it refers to. */
import { ConfigError } from '../config/config-error.ts';
import { watchFiles } from '../config/policy-file/file-watch.ts';
import type { PolicySource } from '../config/policy-file/policy-source.ts';
import type { Telemetry } from '../telemetry/telemetry.ts';

/** From now on once a change has settled, and at once whenever what it returns is called; that resolves when it is done. */
export function reloadOnChange(policies: PolicySource, telemetry: Telemetry): () => Promise<void> {
  let running: Promise<void> | undefined;
  let isDemanded = false;
  const run = async (settledMs: number | undefined) => {
    await reload(policies, telemetry, settledMs);
    while (isDemanded) {
      isDemanded = false;
      await reload(policies, telemetry, undefined);
    }
    running = undefined;
  };
  const reloadSettled = (settledMs: number) => {
    running ??= run(settledMs);
    return running;
  };
  watchFiles(policies, reloadSettled);
  return () => {
    // What is being read may have changed since.
    isDemanded = running !== undefined;
    running ??= run(undefined);
    return running;
  };
}

/** What is in force stays in force when the file has mistakes. */
async function reload(
  policies: PolicySource,
  telemetry: Telemetry,
  settledMs: number | undefined,
): Promise<void> {
  try {
    const reloaded = await policies.reload(settledMs);
    if (reloaded === undefined) return;
    telemetry.policiesInForce(policies.digest);
    telemetry.policiesLoaded(policies.current.policies.length);
    if (reloaded.removed.length > 0) telemetry.policiesRemoved(reloaded.removed);
    for (const note of policies.notes) telemetry.policyNote(note);
  } catch (error) {
    // A fault of ours in reading a file must not end what works.
    const mistakes = error instanceof ConfigError ? error.mistakes : [`cannot be read: ${error}`];
    telemetry.policiesRefused(mistakes);
  }
}
