/** Reports on operators: the audit log, refused calls, overrides. */
import { causeText } from '../cause-text.ts';
import type { TelemetryContext } from '../context.ts';
import type { FieldsOf } from '../log-lines.ts';

/** A line of the audit log: its fields are in docs/logs.md. */
export type OperatorAction = FieldsOf<'operator_action'>;

export interface OperatorEvents {
  acted(action: OperatorAction): void;
  /** An operation was answered 500, because of a fault in headgate. */
  operationFailed(error: unknown): void;
  /** A call of the ops API lacks the token. */
  refused(): void;
  /** The effect of each override in force, in one word. */
  overridesInForce(effects: readonly string[]): void;
  /** Overrides cannot be read from Redis. */
  overridesUnread(reason: unknown): void;
  /** Redis had lost so many overrides. */
  overridesRestored(count: number): void;
}

export function createOperatorEvents(context: TelemetryContext): OperatorEvents {
  const { write, isFirst } = context;
  const metrics = context.metrics.operators;
  return {
    acted: (action) => write('operator_action', action),
    operationFailed: (error) => write('operation_failed', { err: error }),
    refused() {
      metrics.refused.inc();
      if (isFirst('operator')) write('operator_refused', {});
    },
    overridesInForce(effects) {
      metrics.overrides.reset();
      for (const effect of effects) metrics.overrides.inc({ effect });
    },
    overridesUnread(reason) {
      if (isFirst('overrides')) write('overrides_unread', { cause: causeText(reason) });
    },
    overridesRestored(overrides) {
      if (isFirst('overrides restored')) write('overrides_restored', { overrides });
    },
  };
}
