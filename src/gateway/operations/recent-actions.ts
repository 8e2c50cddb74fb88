/** Remembers the last operator actions at this gateway, as the audit log has them. */
import { isoTime } from '../denials/iso-time.ts';
import type { OperatorAction } from '../telemetry/operators.ts';
import type { ActionReport } from './schemas/overview.ts';

export const MOST_ACTIONS = 20;

export class RecentActions {
  readonly #now: () => number;
  /** Newest first. */
  #actions: readonly ActionReport[] = [];

  constructor(now: () => number) {
    this.#now = now;
  }

  get list(): readonly ActionReport[] {
    return this.#actions;
  }

  /** `isConfirmed`: whether the store confirmed the change. */
  add({ action, subject, change, by, reason }: OperatorAction, isConfirmed: boolean): void {
    const report: ActionReport = {
      at: isoTime(this.#now()),
      action: String(action),
      change: String(change),
      by: String(by),
      ...(subject !== undefined && { subject: String(subject) }),
      ...(reason !== undefined && { reason: String(reason) }),
      is_confirmed: isConfirmed,
    };
    this.#actions = [report, ...this.#actions.slice(0, MOST_ACTIONS - 1)];
  }
}
