import { describeAfterwards } from '../core/counting/limit-text.ts';
import { modeOf } from '../core/overrides.ts';
import type { Limit, Policy } from '../core/policy.ts';
import { LOG_SUBJECTS, type Override, policySubject } from '../stores/overrides/override.ts';
import { audited, putInForce, termsOf } from './changes.ts';
import { OperationError } from './operation-error.ts';
import type { Input, Output } from './operation-table.ts';
import type { Gateway } from './running-gateway.ts';
import type { OverrideReport } from './schemas/overrides.ts';

export function listPolicies({ overrides, policies }: Gateway): Output<'listPolicies'> {
  const { modes } = overrides.current;
  return {
    policies: policies.current.policies.map((policy) => ({
      name: policy.name,
      mode: modeOf(policy, modes),
      mode_of_file: policy.mode,
      ...limitTexts(policy),
      on_store_failure: policy.onStoreFailure,
    })),
  };
}

function limitTexts({ limits, plans }: Policy) {
  const textsOf = (some: readonly Limit[]) =>
    some.map(
      ({ description, per, afterwards }) =>
        `${description}, per ${per}${describeAfterwards(afterwards)}`,
    );
  return {
    limits: textsOf(limits),
    ...(plans.size > 0 && {
      plans: [...plans].map(([plan, some]) => ({ plan, limits: textsOf(some) })),
    }),
  };
}

export async function setMode(
  gateway: Gateway,
  { policy, mode, ...written }: Input<'setMode'>,
): Promise<OverrideReport> {
  requirePolicy(gateway, policy);
  const terms = termsOf(written, gateway.now());
  const override: Override = { about: 'policy', policy, mode, ...terms };
  return putInForce(gateway, override, { action: 'mode', subject: policy, change: mode });
}

export async function restoreMode(
  gateway: Gateway,
  { policy, by = 'unknown' }: Input<'restoreMode'>,
): Promise<{ policy: string }> {
  const change = { action: 'mode', subject: policy, change: 'as the policy file says', by };
  await audited(gateway, change, async () => {
    if (await gateway.overrides.remove(policySubject(policy), by)) return;
    throw new OperationError('not_found', `there is no override for the policy "${policy}"`);
  });
  return { policy };
}

export function requirePolicy({ policies }: Gateway, name: string): void {
  if (policies.current.has(name)) return;
  const names = policies.current.policies.map((policy) => policy.name).join(', ');
  throw new OperationError('not_found', `there is no policy "${name}"; there are ${names}`);
}

export async function setLog(
  gateway: Gateway,
  { level, allows_one_in: oneIn, ...written }: Input<'setLog'>,
): Promise<Output<'listOverrides'>> {
  const terms = termsOf(written, gateway.now());
  const made: OverrideReport[] = [];
  if (level !== undefined) {
    const override: Override = { about: 'log_level', level, ...terms };
    made.push(await putInForce(gateway, override, { action: 'log', change: `level ${level}` }));
  }
  if (oneIn !== undefined) {
    const change = `one in ${oneIn} allowed requests`;
    const override: Override = { about: 'log_allows', oneIn, ...terms };
    made.push(await putInForce(gateway, override, { action: 'log', change }));
  }
  if (made.length > 0) return { overrides: made };
  throw new OperationError('invalid', 'nothing to change: set level, allows_one_in or both');
}

export async function restoreLog(
  gateway: Gateway,
  { by = 'unknown' }: Input<'restoreLog'>,
): Promise<Record<string, never>> {
  await audited(gateway, { action: 'log', change: 'as at the start', by }, async () => {
    const removed: boolean[] = [];
    for (const subject of LOG_SUBJECTS) removed.push(await gateway.overrides.remove(subject, by));
    if (removed.includes(true)) return;
    throw new OperationError('not_found', 'there is no override for the log');
  });
  return {};
}
