import { causeText } from './cause-text.ts';
import type { TelemetryContext } from './context.ts';
import {
  CAUSE,
  ERROR,
  type FieldsOf,
  KEEP_FOR_REPORT,
  type LogLines,
  ONE_A_MINUTE,
  RUN_CHECK,
} from './log/log-line.ts';
import type { MetricRows } from './metrics.ts';

export const OPERATOR_LINES = {
  operator_action: {
    level: 'warn',
    message: 'an operator changed what the gateway does',
    fields: {
      action: 'the action, as in [the ops API](operating.md)',
      subject:
        'the pseudonym of the client, or the policy; absent if the change concerns the whole gateway',
      client_id: 'the id of a listed key, if the subject is one',
      change: 'the new state',
      until: 'when the change ends; absent if it does not end',
      reason: 'why, in the words of the operator',
      by: 'the name that the operator gave',
    },
    meaning:
      'The audit log. The gateway that got the call writes the line; the others apply the change without one.',
    always: true,
  },
  operation_failed: {
    level: 'error',
    message: 'an operation of the ops API failed: answered 500',
    fields: { err: ERROR },
    meaning: KEEP_FOR_REPORT,
  },
  operator_refused: {
    level: 'warn',
    message: 'a call of the ops API without the token of HEADGATE_ADMIN_TOKEN was refused',
    fields: {},
    atMost: ONE_A_MINUTE,
  },
  overrides_restored: {
    level: 'warn',
    message: 'Redis had lost overrides: this gateway has restored those that it knew',
    fields: { overrides: 'how many' },
    meaning: 'Redis was emptied, or restarted without its data: the counters are lost as well.',
    atMost: ONE_A_MINUTE,
  },
  overrides_unread: {
    level: 'warn',
    message: 'overrides cannot be read from Redis: until they can, the last known ones apply',
    fields: { cause: CAUSE },
    meaning: `Redis is down, or its account lacks permissions: ${RUN_CHECK}.`,
    atMost: ONE_A_MINUTE,
  },
} as const satisfies LogLines;

const OPERATOR_METRICS = {
  headgate_overrides: {
    help: 'Overrides in force: blocked or exempt clients, policies in another mode, logging.',
    labels: ['effect'],
    aggregator: 'max',
  },
  headgate_operators_refused_total: { help: 'Calls of the ops API without its token.' },
} as const satisfies MetricRows;

export type OperatorAction = FieldsOf<typeof OPERATOR_LINES, 'operator_action'>;

export function createOperatorEvents({ linesOf, metricsOf }: TelemetryContext) {
  const write = linesOf(OPERATOR_LINES);
  const metrics = metricsOf(OPERATOR_METRICS);
  return {
    acted: (action: OperatorAction): void => write('operator_action', action),
    operationFailed: (error: unknown): void => write('operation_failed', { err: error }),
    refused(): void {
      metrics.headgate_operators_refused_total.inc();
      write('operator_refused', {});
    },
    /** The effect of each override in force, in one word. */
    overridesInForce(effects: readonly string[]): void {
      metrics.headgate_overrides.reset();
      for (const effect of effects) metrics.headgate_overrides.inc({ effect });
    },
    overridesUnread: (error: unknown): void =>
      write('overrides_unread', { cause: causeText(error) }),
    overridesRestored: (overrides: number): void => write('overrides_restored', { overrides }),
  };
}
