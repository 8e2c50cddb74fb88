/** Examines policy files for `headgate check`: every diagnostic of loading, and the advice. */
import { FileError } from '../../../gateway/config/config-error.ts';
import { compilePolicies } from '../../../gateway/config/policy-file/compile.ts';
import { type PolicyFiles, validateFiles } from '../../../gateway/config/policy-file/read.ts';
import { displayName, readText } from '../../../gateway/config/text-file.ts';
import type { ExaminedFile } from '../../output/diagnostics.ts';
import { adviceOn } from './advice.ts';

/** `readNamed` reads the policy file itself; it may be standard input. */
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
    const { cloudflare, isWritten } = valid;
    const advice = adviceOn(valid.file, { policySet, nowMs, cloudflare, isWritten });
    const diagnostics = valid.place([...valid.notes, ...advice]);
    return { file, policies: policySet.policies.length, diagnostics };
  } catch (error) {
    if (!(error instanceof FileError)) throw error;
    return { file, policies: undefined, diagnostics: error.diagnostics };
  }
}
