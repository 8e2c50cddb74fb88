import { type DiagnosticDraft, FileError, type Path } from '../../../gateway/config/diagnostic.ts';
import { compilePolicies } from '../../../gateway/config/policy-file/compile.ts';
import {
  type CloudflareRanges,
  type PolicyFiles,
  validateFiles,
} from '../../../gateway/config/policy-file/read.ts';
import type { ValidFile } from '../../../gateway/config/policy-file/valid-file.ts';
import { displayName, readText } from '../../../gateway/config/text-file.ts';
import type { PolicySet } from '../../../gateway/core/matching/policy-set.ts';
import type { ExaminedFile } from '../../output/diagnostics.ts';
import { adviceOnAfterwards } from './afterwards.ts';
import { adviceOnKeys } from './keys.ts';
import { adviceOnLimits } from './limits.ts';
import { adviceOnLists } from './lists.ts';
import { adviceOnMcp } from './mcp.ts';
import { adviceOnRoutes } from './routes.ts';
import { adviceOnTrust } from './trust.ts';
import { adviceOnVouched } from './vouched.ts';

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
    const { policies, keysInStore } = policySet;
    return { file, policies: policies.length, keysInStore, diagnostics };
  } catch (error) {
    if (!(error instanceof FileError)) throw error;
    return { file, policies: undefined, diagnostics: error.diagnostics };
  }
}

export interface AdviceContext {
  readonly policySet: PolicySet;
  readonly cloudflare: CloudflareRanges;
  readonly nowMs: number;
  readonly isWritten: (path: Path) => boolean;
}

export function adviceOn(file: ValidFile, context: AdviceContext): DiagnosticDraft[] {
  return [
    ...adviceOnRoutes(file.entries, context.policySet),
    ...adviceOnMcp(file, context.policySet),
    ...adviceOnLimits(file),
    ...adviceOnAfterwards(file),
    ...adviceOnKeys(file),
    ...adviceOnLists(file, context),
    ...adviceOnTrust(file, context),
    ...adviceOnVouched(file),
  ];
}
