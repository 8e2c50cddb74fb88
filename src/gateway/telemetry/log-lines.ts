/** The catalogue: every line that the process logs, by its event. docs/logs.md is generated from it. */
import { DECISION_LINES } from './decisions/decision-lines.ts';
import { KEY_LINES } from './keys.ts';
import type { LogLines } from './log/log-line.ts';
import { OPERATOR_LINES } from './operators.ts';
import { PEER_LINES } from './peers.ts';
import { POLICY_FILE_LINES } from './policy-file.ts';
import { PROCESS_LINES } from './process.ts';
import { PROXY_LINES } from './proxies.ts';
import { RATE_LIMIT_LINES } from './rate-limits.ts';
import { SETTLEMENT_LINES } from './settlements.ts';
import { STORE_LINES } from './store.ts';
import { TRACING_LINES } from './tracing/tracing.ts';

export const LOG_LINES = {
  ...DECISION_LINES,
  ...PROXY_LINES,
  ...STORE_LINES,
  ...PEER_LINES,
  ...KEY_LINES,
  ...OPERATOR_LINES,
  ...POLICY_FILE_LINES,
  ...RATE_LIMIT_LINES,
  ...SETTLEMENT_LINES,
  ...PROCESS_LINES,
  ...TRACING_LINES,
} as const satisfies LogLines;
