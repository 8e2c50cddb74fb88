/** Policies: in which mode they are, and another one for a time. */
import { modeOf } from '../core/overrides.ts';
import type { PolicyMode } from '../core/policy.ts';
import { audited } from './audit.ts';
import { requirePolicy } from './clients.ts';
import type { Gateway } from './gateway.ts';
import { lift } from './lift.ts';
import { aboutPolicy, type Override } from './override.ts';
import { overrideReport } from './override-report.ts';
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
      const report = overrideReport(override);
      const { until, reason, by } = report;
      const change = { action: 'mode', subject: policy, change: mode, until, reason, by };
      await audited(gateway, change, () => overrides.write(override));
      return report;
    },
    async restoreMode({ policy, by = 'unknown' }: NamedPolicy & { by?: string | undefined }) {
      const change = { action: 'mode', subject: policy, change: 'as the policy file says', by };
      await audited(gateway, change, () =>
        lift(gateway, aboutPolicy(policy), `policy "${policy}"`),
      );
      return { policy };
    },
  };
}
