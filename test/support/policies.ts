import { compilePolicies } from '../../src/gateway/config/policy-file/compile.ts';
import { readKeyFile } from '../../src/gateway/config/policy-file/key-list.ts';
import type { CloudflareRanges } from '../../src/gateway/config/policy-file/read.ts';
import {
  type PolicyFileContext,
  validatePolicyFile,
} from '../../src/gateway/config/policy-file/validate.ts';
import type { PolicySet } from '../../src/gateway/core/matching/policy-set.ts';
import type { Policy } from '../../src/gateway/core/policy.ts';

export const CLOUDFLARE_RANGE = '173.245.48.0/20';

interface TestContext extends PolicyFileContext {
  readonly cloudflare: CloudflareRanges;
}

/** What policy files refer to. Every key file has this text. */
export function policyFileContext(keyFile = '[]'): TestContext {
  return {
    cloudflare: { checked: '2026-11-01', ranges: [CLOUDFLARE_RANGE] },
    readKeyFile: (name) => readKeyFile(keyFile, name),
    readPage: (name) => `<p>${name} {seconds}</p>`,
  };
}

export function policySetFrom(yaml: string, keyFile?: string): PolicySet {
  const { file } = validatePolicyFile(yaml, 'policies.yaml', policyFileContext(keyFile));
  return compilePolicies(file, { cloudflare: [CLOUDFLARE_RANGE] });
}

/** A policy called login with these limits, as a file would have them: `[5/5min, { rate: 50/5min, per: ip }]`. */
export function loginPolicy(limits: string): Policy {
  const { policies } = policySetFrom(`
version: 1
identity: { sources: [api_key, user, ip] }
default: { limits: [1000/1h] }
policies: [{ name: login, match: { path: /login }, limits: ${limits} }]`);
  return policies[0] as Policy;
}
