/**
 * What `headgate check` says of a valid policy file besides its notes: what takes a while to find out, or depends on
 * today. Something is likely not what the author of the file thinks it is.
 */
import type { PolicySet } from '../../core/policy-set.ts';
import type { CloudflareRanges } from '../policy-file/cloudflare-ranges.ts';
import type { ValidFile } from '../policy-file/compile.ts';
import type { Remark } from '../unplaced-diagnostic.ts';
import type { Path } from '../yaml-text.ts';
import { adviceOnKeys } from './keys.ts';
import { adviceOnLimits } from './limits.ts';
import { adviceOnLists } from './lists.ts';
import { adviceOnRoutes } from './routes.ts';
import { adviceOnTrust } from './trust.ts';

export interface AdviceContext {
  readonly policySet: PolicySet;
  readonly cloudflare: CloudflareRanges;
  readonly nowMs: number;
  /** Whether the file itself has a value at this path, in place of a default. */
  readonly isWritten: (path: Path) => boolean;
}

export function adviceOn(file: ValidFile, context: AdviceContext): Remark[] {
  return [
    ...adviceOnRoutes(file.entries, context.policySet),
    ...adviceOnLimits(file),
    ...adviceOnKeys(file),
    ...adviceOnLists(file, context),
    ...adviceOnTrust(file, context),
  ];
}
