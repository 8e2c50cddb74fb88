/** Warnings and notes on a valid policy file that `headgate check` reports and loading does not. */

import type { DiagnosticDraft, Path } from '../../../gateway/config/diagnostic.ts';
import type { CloudflareRanges } from '../../../gateway/config/policy-file/read.ts';
import type { ValidFile } from '../../../gateway/config/policy-file/valid-file.ts';
import type { PolicySet } from '../../../gateway/core/matching/policy-set.ts';
import { adviceOnKeys } from './keys.ts';
import { adviceOnLimits } from './limits.ts';
import { adviceOnLists } from './lists.ts';
import { adviceOnPlans } from './plans.ts';
import { adviceOnRoutes } from './routes.ts';
import { adviceOnTrust } from './trust.ts';

export interface AdviceContext {
  readonly policySet: PolicySet;
  readonly cloudflare: CloudflareRanges;
  readonly nowMs: number;
  /** Whether the file has a value at this path; false if a default applies. */
  readonly isWritten: (path: Path) => boolean;
}

export function adviceOn(file: ValidFile, context: AdviceContext): DiagnosticDraft[] {
  return [
    ...adviceOnRoutes(file.entries, context.policySet),
    ...adviceOnLimits(file),
    ...adviceOnKeys(file),
    ...adviceOnPlans(file),
    ...adviceOnLists(file, context),
    ...adviceOnTrust(file, context),
  ];
}
