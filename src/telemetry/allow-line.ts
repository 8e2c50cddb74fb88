/** What a line says of a request that was allowed: for operators who want to see some of them. */
import type { Decision } from '../core/decision.ts';
import { partitionOf } from '../core/descriptor.ts';
import { type Answered, answeredFields } from '../denials/answered.ts';

export function allowLine({ policy, reason, mode, binding }: Decision, answered: Answered) {
  return {
    policy,
    limit: binding?.limit.label,
    reason,
    mode,
    counted: binding && partitionOf(binding.key),
    remaining: binding?.state.remaining,
    ...answeredFields(answered),
  };
}
