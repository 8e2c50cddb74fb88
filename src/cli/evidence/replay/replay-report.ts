/** What `headgate replay` answers, as plain data for JSON. */
import type { PolicyMode } from '../../../gateway/core/policy.ts';

export interface ReplayReport {
  readonly log: LogReport;
  readonly lines: LinesReport;
  readonly requests: RequestsReport;
  readonly policies: readonly PolicyReport[];
  /** The clients denied most. */
  readonly clients: readonly ClientReport[];
  /** Only with `--against`. */
  readonly difference?: DifferenceReport;
  /** What a reader of the numbers must know. */
  readonly notes: readonly string[];
}

export interface MisreadReport {
  /** The name of the log. */
  readonly source: string;
  /** From 1. */
  readonly line: number;
  /** The first field that is not as the format has it. */
  readonly field: string;
  /** The beginning of the line. */
  readonly text: string;
}

/** Times are ISO 8601 in UTC; null without requests. */
export interface LogReport {
  readonly sources: readonly string[];
  readonly format: string;
  readonly from: string | null;
  readonly to: string | null;
}

export interface LinesReport {
  readonly read: number;
  readonly understood: number;
  readonly not_understood: number;
  readonly first_not_understood: readonly MisreadReport[];
  /** Lines without an HTTP request: a handshake that failed, a connection that closed. */
  readonly without_request: number;
  /** Understood lines that came too late to be put in order. They are not decided. */
  readonly late: number;
  readonly out_of_order: number;
}

export interface RequestsReport {
  readonly decided: number;
  readonly denied: number;
  readonly clients: number;
  readonly denied_clients: number;
  /** Not decided, because the log does not say who sent them. */
  readonly without_address: number;
  /** Answered 429 when they were logged. */
  readonly logged_429: number;
  /** By the reason of the decision, as in the log of a gateway. */
  readonly reasons: Readonly<Record<string, number>>;
}

/** Null stands for what the log cannot tell. In shadow mode, denied requests are those that would have been denied. */
export interface CountsReport {
  readonly requests: number;
  readonly clients: number;
  readonly denied_requests: number | null;
  readonly denied_clients: number | null;
  readonly first_denial: string | null;
  readonly last_denial: string | null;
  readonly busiest_minute: {
    readonly at: string;
    readonly requests: number;
    readonly denied_requests: number;
  } | null;
  /** Why nothing was evaluated. */
  readonly not_evaluated?: string;
}

export interface PolicyReport extends CountsReport {
  readonly name: string;
  readonly mode: PolicyMode;
  /** Denied requests if all requests of one second came at once. Only if the log leaves that open and it matters. */
  readonly denied_requests_at_once?: number;
  readonly limits: readonly LimitReport[];
}

export interface LimitReport extends CountsReport {
  readonly label: string;
  readonly allows: string;
}

export interface ClientReport {
  readonly client: string;
  readonly requests: number;
  readonly denied_requests: number;
}

export interface DifferenceReport {
  readonly newly_denied_requests: number;
  readonly newly_denied_clients: number;
  readonly newly_allowed_requests: number;
  readonly newly_allowed_clients: number;
  /** By the policy that denies: the new file's, and the old file's. */
  readonly newly_denied: readonly ChangeReport[];
  readonly newly_allowed: readonly ChangeReport[];
  readonly clients_newly_denied: readonly ChangedClientReport[];
  readonly clients_newly_allowed: readonly ChangedClientReport[];
}

export interface ChangeReport {
  readonly policy: string;
  readonly requests: number;
  readonly clients: number;
}

export interface ChangedClientReport {
  readonly client: string;
  readonly requests: number;
  readonly changed_requests: number;
}
