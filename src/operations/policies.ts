/** Policies: in which mode they are, and another one for a time. */
import { modeOf } from '../core/overrides.ts';
import type { PolicyMode } from '../core/policy.ts';
import { audited, putInForce } from './audit.ts';
import { OperationError } from './operation-error.ts';
import { aboutPolicy, type Override } from './override.ts';
import type { Gateway } from './running-gateway.ts';
import { termsOf, type WrittenTerms } from './terms.ts';

interface NamedPolicy {
  readonly policy: string;
}

export function policyOperations(gateway: Gateway) {
  const { overrides, policies, now } = gateway;
  return {
    async list() {
      const { modes } = overrides.current;
      return {
        policies: policies.current.policies.map((policy) => ({
          name: policy.name,
          mode: modeOf(policy, modes),
          mode_of_file: policy.mode,
          limits: policy.limits.map(({ description, per }) => `${description}, per ${per}`),
          on_store_failure: policy.onStoreFailure,
        })),
      };
    },
    async setMode({ policy, mode, ...terms }: NamedPolicy & WrittenTerms & { mode: PolicyMode }) {
      requirePolicy(gateway, policy);
      const override: Override = { about: 'policy', policy, mode, ...termsOf(terms, now()) };
      return putInForce(gateway, override, { action: 'mode', subject: policy, change: mode });
    },
    async restoreMode({ policy, by = 'unknown' }: NamedPolicy & { by?: string | undefined }) {
      const change = { action: 'mode', subject: policy, change: 'as the policy file says', by };
      await audited(gateway, change, async () => {
        if (await overrides.remove(aboutPolicy(policy))) return;
        throw new OperationError('not_found', `no override is about the policy "${policy}"`);
      });
      return { policy };
    },
  };
}

/** Throws an OperationError for a policy that does not exist. */
export function requirePolicy({ policies }: Gateway, name: string): void {
  if (policies.current.has(name)) return;
  const names = policies.current.policies.map((policy) => policy.name).join(', ');
  throw new OperationError('not_found', `there is no policy "${name}"; there are ${names}`);
}
