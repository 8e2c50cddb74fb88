/** The catalogue: every line that the process logs, by its event. docs/logs.md is generated from it. */
import { DECISION_LINES } from './decisions/decision-lines.ts';
import type { LogLines } from './log/log-line.ts';
import { OPERATOR_LINES } from './operators/operator-lines.ts';
import { PEER_LINES } from './peers/peer-lines.ts';
import { POLICY_FILE_LINES } from './policy-files/policy-file-lines.ts';
import { LIFECYCLE_LINES, LOSS_LINES, WORKER_LINES } from './process/process-lines.ts';
import { PROXY_LINES } from './proxies/proxy-lines.ts';
import { RATE_LIMIT_LINES } from './rate-limits/rate-limit-lines.ts';
import { STORE_LINES } from './store/store-lines.ts';
import { TRACING_LINES } from './tracing/tracing-lines.ts';

export type { LogLine } from './log/log-line.ts';

export const LOG_LINES = {
  ...DECISION_LINES,
  ...PROXY_LINES,
  ...STORE_LINES,
  ...PEER_LINES,
  ...OPERATOR_LINES,
  ...POLICY_FILE_LINES,
  ...RATE_LIMIT_LINES,
  ...WORKER_LINES,
  ...LOSS_LINES,
  ...LIFECYCLE_LINES,
  ...TRACING_LINES,
} as const satisfies LogLines;

export type LogEvent = keyof typeof LOG_LINES;

/** All fields of a line. TypeScript rejects unknown fields only if the type has a known one, hence `event`. */
export type FieldsOf<E extends LogEvent> = Readonly<
  Record<keyof (typeof LOG_LINES)[E]['fields'], unknown>
> & { readonly event?: never };
