/** What loading a policy file would say, and whatever else there is to say of it. */

import type { Finding } from '../diagnostic.ts';
import { FileError } from '../file-error.ts';
import { compilePolicies } from '../policy-file/compile.ts';
import { type PolicyFiles, validateFiles } from '../policy-file/read.ts';
import { displayName, readText } from '../text-file.ts';

export interface ExaminedFile {
  readonly file: string;
  /** How many there are; none can be used where a finding is an error. */
  readonly policies: number | undefined;
  readonly findings: readonly Finding[];
}

/** `readNamed` reads the policy file itself, which whoever asks has named. */
export function examinePolicies(
  paths: PolicyFiles,
  nowMs: number,
  readNamed: (path: string) => string,
): ExaminedFile {
  const file = displayName(paths.policies);
  try {
    const valid = validateFiles(paths, (path, namedBy) =>
      path === paths.policies ? readNamed(path) : readText(path, namedBy),
    );
    const policySet = compilePolicies(valid.file, valid.ranges);
    const findings = valid.findings(policySet, nowMs);
    return { file, policies: policySet.policies.length, findings };
  } catch (error) {
    if (!(error instanceof FileError)) throw error;
    return { file, policies: undefined, findings: error.findings };
  }
}
