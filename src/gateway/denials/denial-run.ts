/** Denials of a client in a row that have the same cause, so that each decision id leads to its own cause. */
import type { Decision, Denial } from '../core/counting/decision.ts';

export interface RecordedDenial {
  readonly decision: Decision;
  readonly denial: Denial;
  /** Absent for a denial by a shadow policy, which no proxy gets. */
  readonly answered: { readonly dialect: string; readonly durationMs: number } | undefined;
}

export interface DenialRun {
  /** The numbers in the ids of the first and of the last of them. */
  readonly first: number;
  last: number;
  /** When the first of them was, milliseconds since the epoch. */
  readonly sinceMs: number;
  lastMs: number;
  recorded: RecordedDenial;
  /** An operator reset the quota that denied it, and the client was not denied since. */
  isReset: boolean;
}

export function haveSameCause(a: RecordedDenial, b: RecordedDenial): boolean {
  return (
    a.denial.client === b.denial.client &&
    a.denial.identity === b.denial.identity &&
    a.denial.address.daily.current === b.denial.address.daily.current &&
    a.denial.accessBy?.entry === b.denial.accessBy?.entry &&
    a.denial.accessBy?.overriddenMs === b.denial.accessBy?.overriddenMs &&
    a.decision.mode === b.decision.mode &&
    a.decision.binding?.key === b.decision.binding?.key &&
    a.decision.binding?.limit === b.decision.binding?.limit &&
    a.answered?.dialect === b.answered?.dialect
  );
}
