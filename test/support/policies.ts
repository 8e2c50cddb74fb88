import { compilePolicyFile } from '../../src/config/policy-file.ts';
import type { PolicySet } from '../../src/core/policy-set.ts';

export const CLOUDFLARE_RANGE = '173.245.48.0/20';

export function policySetFrom(yaml: string): PolicySet {
  return compilePolicyFile(yaml, 'policies.yaml', { cloudflare: [CLOUDFLARE_RANGE] });
}
