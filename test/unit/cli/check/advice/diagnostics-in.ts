/** The diagnostics of a policy file, in a form that tests compare. */
import { adviceOn } from '../../../../../src/cli/check/advice/examine-policies.ts';
import { type Diagnostic, FileError } from '../../../../../src/gateway/config/diagnostic.ts';
import { compilePolicies } from '../../../../../src/gateway/config/policy-file/compile.ts';
import { validatePolicyFile } from '../../../../../src/gateway/config/policy-file/validate.ts';
import { policyFileContext } from '../../../../support/policies.ts';

/** A month after the date of the Cloudflare list that the tests use. */
const TODAY_MS = Date.parse('2026-12-01');

export function diagnosticsIn(
  text: string,
  name = 'policies.yaml',
  nowMs = TODAY_MS,
): Diagnostic[] {
  const context = policyFileContext();
  const { cloudflare } = context;
  try {
    const { file, notes, place, isWritten } = validatePolicyFile(text, name, context);
    const policySet = compilePolicies(file, { cloudflare: cloudflare.ranges });
    const advice = adviceOn(file, { policySet, cloudflare, nowMs, isWritten });
    return place([...notes, ...advice]);
  } catch (error) {
    if (error instanceof FileError) return [...error.diagnostics];
    throw error;
  }
}

/** `file:line:column: rule: path: message` */
export function lineOf({ file, place, rule, path, message }: Diagnostic): string {
  const parts = [`${file}:${place?.line}:${place?.column}`, rule, path, message];
  return parts.filter((part) => part !== '').join(': ');
}
