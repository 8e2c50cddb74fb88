/** The fields of the log line for an allowed request. */
import type { Decision } from '../../core/counting/decision.ts';
import { partitionOf } from '../../core/counting/descriptor.ts';

/** Milliseconds. */
export function allowLine(
  { policy, reason, mode, binding }: Decision,
  dialect: string,
  durationMs: number,
) {
  return {
    policy,
    limit: binding?.limit.label,
    reason,
    mode,
    counted: binding && partitionOf(binding.key),
    remaining: binding?.state.remaining,
    dialect,
    duration_ms: durationMs,
  };
}
