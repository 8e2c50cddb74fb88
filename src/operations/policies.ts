/** Policies: in which mode they are, and another one for a time. */
import { modeOf } from '../core/overrides.ts';
import type { PolicyMode } from '../core/policy.ts';
import { audited } from './audit.ts';
import { requirePolicy } from './clients.ts';
import type { Gateway } from './gateway.ts';
import { lift } from './lift.ts';
import { orderReport } from './order-report.ts';
import { aboutPolicy, type Override } from './override.ts';
import { type OrderTerms, termsOf } from './terms.ts';

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
    async setMode({ policy, mode, ...terms }: NamedPolicy & OrderTerms & { mode: PolicyMode }) {
      requirePolicy(gateway, policy);
      const order: Override = { about: 'policy', policy, mode, ...termsOf(terms, now()) };
      const report = orderReport(order);
      const { until, reason, by } = report;
      const change = { action: 'mode', subject: policy, order: mode, until, reason, by };
      await audited(gateway, change, () => overrides.write(order));
      return report;
    },
    async restoreMode({ policy, by = 'unknown' }: NamedPolicy & { by?: string | undefined }) {
      const change = { action: 'mode', subject: policy, order: 'as the policy file says', by };
      await audited(gateway, change, () =>
        lift(gateway, aboutPolicy(policy), `policy "${policy}"`),
      );
      return { policy };
    },
  };
}
