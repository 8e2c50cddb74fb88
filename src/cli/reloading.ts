/** Takes up what changes in the policy file and the files that it refers to. */
import { ConfigError } from '../config/config-error.ts';
import { watchFiles } from '../config/file-watch.ts';
import { digestOf } from '../config/files-digest.ts';
import type { PolicySource } from '../config/policy-source.ts';
import type { Telemetry } from '../telemetry/telemetry.ts';

/** From now on, and whenever what it returns is called; that resolves when it is done. */
export function reloadOnChange(policies: PolicySource, telemetry: Telemetry): () => Promise<void> {
  let running: Promise<void> | undefined;
  let again = false;
  const run = async () => {
    do {
      again = false;
      await reload(policies, telemetry);
    } while (again);
    running = undefined;
  };
  const takeUp = () => {
    // What is being read may have changed since.
    again = running !== undefined;
    running ??= run();
    return running;
  };
  watchFiles(policies, takeUp);
  return takeUp;
}

/** What is in force stays in force when the file has mistakes. */
async function reload(policies: PolicySource, telemetry: Telemetry): Promise<void> {
  try {
    await policies.reload();
    telemetry.policiesInForce(digestOf(policies.files));
    telemetry.policiesLoaded(policies.current.policies.length);
    for (const note of policies.notes) telemetry.policyNote(note);
  } catch (error) {
    // A fault of ours in reading a file must not end what works.
    const mistakes = error instanceof ConfigError ? error.mistakes : [`cannot be read: ${error}`];
    telemetry.policiesRefused(mistakes);
  }
}
