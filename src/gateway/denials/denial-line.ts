/** The fields of the log line for a denial; docs/logs.md explains them. */
import { partitionOf } from '../core/counting/descriptor.ts';
import { blockOf } from './denial-report.ts';
import type { RecordedDenial } from './denial-run.ts';

export interface DenialLine {
  readonly decision_id: string;
  /** Of the request, if it has a valid `traceparent`. */
  readonly trace_id: string | undefined;
  readonly policy: string;
  readonly limit: string | undefined;
  readonly reason: string;
  readonly mode: string;
  readonly identity: string;
  readonly client: string;
  /** The id of a listed key. */
  readonly client_id: string | undefined;
  /** The unlisted key of the request, if the denied client is the address behind it. */
  readonly came_as: string | undefined;
  /** The partition whose counter was full, if it is not the client. */
  readonly counted: string | undefined;
  readonly retry_after_ms: number | undefined;
  readonly blocked_by: 'policy_file' | 'override' | undefined;
  /** File and line of the entry that blocks the client. */
  readonly listed_at: string | undefined;
  /** Undefined for a denial by a shadow policy. */
  readonly dialect: string | undefined;
  readonly duration_ms: number | undefined;
  /** Denials since the previous line that were not logged. */
  readonly suppressed: number;
}

/** What a line says beside the denial itself. */
export type DeniedName = Pick<DenialLine, 'client' | 'client_id' | 'suppressed'>;

export function denialLine(
  { decision, denial, answered }: RecordedDenial,
  { client, client_id, suppressed }: DeniedName,
): DenialLine {
  const { policy, reason, mode, binding } = decision;
  const counted = binding && partitionOf(binding.key);
  const { blocked_by, listed_at } = blockOf(denial);
  return {
    decision_id: denial.id,
    trace_id: denial.traceId,
    policy,
    limit: binding?.limit.label,
    reason,
    mode,
    identity: denial.identity,
    client,
    client_id,
    came_as: denial.client === client ? undefined : denial.client,
    counted: counted === client ? undefined : counted,
    retry_after_ms: binding?.isNeverMet ? undefined : binding?.state.retryAfterMs,
    blocked_by,
    listed_at,
    dialect: answered?.dialect,
    duration_ms: answered?.durationMs,
    suppressed,
  };
}
