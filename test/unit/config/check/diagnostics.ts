/** What is found in the text of a policy file, as the tests compare it. */

import type { Finding } from '../../../../src/config/diagnostic.ts';
import { FileError } from '../../../../src/config/file-error.ts';
import { compilePolicies } from '../../../../src/config/policy-file/compile.ts';
import { validatePolicyFile } from '../../../../src/config/policy-file/validate.ts';
import { policyFileContext } from '../../../support/policies.ts';

/** A month after the list of Cloudflare's networks that the tests use. */
export const TODAY_MS = Date.parse('2026-12-01');

export function findingsIn(text: string, name = 'policies.yaml', nowMs = TODAY_MS): Finding[] {
  const context = policyFileContext();
  try {
    const { file, findings } = validatePolicyFile(text, name, context);
    const policySet = compilePolicies(file, { cloudflare: context.cloudflare.ranges });
    return findings(policySet, nowMs);
  } catch (error) {
    if (error instanceof FileError) return [...error.findings];
    throw error;
  }
}

/** `file:line:column: rule: path: message` */
export function told({ file, place, rule, path, message }: Finding): string {
  const parts = [`${file}:${place?.line}:${place?.column}`, rule, path, message];
  return parts.filter((part) => part !== '').join(': ');
}
