/** What `headgate proxy-config` makes of a policy file. */

import {
  type ProxyConfigInput,
  proxyConfig,
} from '../../src/cli/proxy-files/print/proxy-config.ts';
import type { ValidFile } from '../../src/gateway/config/policy-file/valid-file.ts';
import { validatePolicyFile } from '../../src/gateway/config/policy-file/validate.ts';
import { policyFileContext } from './policies.ts';

export function validFile(yaml: string): ValidFile {
  return validatePolicyFile(yaml, 'policies.yaml', policyFileContext()).file;
}

export function proxyConfigOf(
  proxy: string,
  yaml: string,
  input: Partial<ProxyConfigInput> = {},
): string {
  const shipped = {
    gateway: undefined,
    application: undefined,
    sendsSecret: false,
    include: false,
  };
  return proxyConfig({ ...shipped, proxy, policies: validFile(yaml), ...input }).text;
}
