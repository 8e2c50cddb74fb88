/** Policies: in which mode they are, and another one for a time. */
import { modeOf } from '../core/overrides.ts';
import type { PolicyMode } from '../core/policy.ts';
import { requirePolicy } from './clients.ts';
import type { Gateway } from './gateway.ts';
import { OperationError } from './operation-error.ts';
import { orderReport } from './order-report.ts';
import { aboutPolicy, type Override } from './override.ts';
import { type OrderTerms, termsOf } from './terms.ts';

interface NamedPolicy {
  readonly policy: string;
}

export function policyOperations(gateway: Gateway) {
  const { overrides, policies, audit, now } = gateway;
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
    async setMode({ policy, mode, ...terms }: NamedPolicy & OrderTerms & { mode: PolicyMode }) {
      requirePolicy(gateway, policy);
      const order: Override = { about: 'policy', policy, mode, ...termsOf(terms, now()) };
      await overrides.write(order);
      const report = orderReport(order);
      const { until, reason, by } = report;
      audit({ action: 'mode', subject: policy, order: mode, until, reason, by });
      return report;
    },
    async restoreMode({ policy, by = 'unknown' }: NamedPolicy & { by?: string | undefined }) {
      if (!(await overrides.remove(aboutPolicy(policy)))) {
        throw new OperationError(
          'not_found',
          `no operator's order is about the policy "${policy}"`,
        );
      }
      const order = 'as the policy file says';
      audit({ action: 'mode', subject: policy, order, until: undefined, reason: undefined, by });
      return { policy };
    },
  };
}
