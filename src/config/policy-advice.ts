/**
 * What `headgate check` says of a valid policy file besides its notes: what takes a while to find out, or depends on
 * today. Something is likely not what the author of the file thinks it is.
 */
import type { PolicySet } from '../core/policy-set.ts';
import { adviceOnKeys } from './advice-on-keys.ts';
import { adviceOnLimits } from './advice-on-limits.ts';
import { adviceOnLists } from './advice-on-lists.ts';
import { adviceOnRoutes } from './advice-on-routes.ts';
import { adviceOnTrust } from './advice-on-trust.ts';
import type { CloudflareRanges } from './cloudflare-ranges.ts';
import type { ValidFile } from './policy-compile.ts';
import type { Remark } from './remark.ts';

export interface AdviceContext {
  readonly policySet: PolicySet;
  readonly cloudflare: CloudflareRanges;
  readonly nowMs: number;
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
