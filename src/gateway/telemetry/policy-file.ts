import type { TelemetryContext } from './context.ts';
import { type LogLines, MOST_LISTED } from './log/log-line.ts';
import type { MetricRows } from './metrics.ts';

const runbook = 'HeadgatePolicyFileRefused';

export const POLICY_FILE_LINES = {
  policies_loaded: {
    level: 'info',
    message: 'the policy file was reloaded',
    fields: { policies: 'the number of policies, `default` included' },
    meaning: 'The new policies apply.',
    runbook,
  },
  policies_removed: {
    level: 'warn',
    message: 'policies were removed: they no longer limit anything',
    fields: {
      policies: `a list of the names of the first ${MOST_LISTED}`,
      more: 'how many more there are',
    },
    meaning:
      'The reloaded policy file does not have them. If that was a mistake, restore the file. Replace policy files by renaming, so that headgate never reads half of one.',
    runbook,
  },
  policies_refused: {
    level: 'error',
    message: 'the policy file has mistakes: the previous policies stay in force',
    fields: {
      mistakes: `a list of the first ${MOST_LISTED}, each as \`file:line:column: path: what is wrong\``,
      more: 'how many more there are',
    },
    meaning: 'Correct them; `headgate check` lists them all.',
    runbook,
  },
  policy_note: {
    level: 'warn',
    fields: {},
    meaning:
      'Something to know about a valid policy file, at the start and after each reload; `headgate check` prints it as well.',
  },
} as const satisfies LogLines;

const POLICY_FILE_METRICS = {
  headgate_config_info: {
    help: '1, with the start of the SHA-256 of the policy file in force and the files that it refers to.',
    labels: ['sha256'],
    aggregator: 'max',
  },
  headgate_config_last_reload_successful: {
    help: '0 while the policy file has mistakes and the previous policies stay in force, else 1.',
    aggregator: 'min',
  },
  headgate_config_last_success_timestamp_seconds: {
    help: 'When the policy file in force was read, seconds since the epoch.',
    aggregator: 'max',
  },
  headgate_policy_reloads_total: {
    help: 'Reloads of the policy file, or of a file that it refers to, by result. Each worker counts its own.',
    labels: ['result'],
  },
} as const satisfies MetricRows;

/** `onOtherFile` is called when another policy file may be in force. */
export function createPolicyFileEvents(
  { linesOf, metricsOf, now }: TelemetryContext,
  onOtherFile: () => void,
) {
  const write = linesOf(POLICY_FILE_LINES);
  const metrics = metricsOf(POLICY_FILE_METRICS);
  // A supervisor reads the file once, and reloads nothing.
  metrics.headgate_config_last_reload_successful.set(1);
  return {
    inForce(sha256: string): void {
      metrics.headgate_config_last_reload_successful.set(1);
      metrics.headgate_config_info.reset();
      metrics.headgate_config_info.set({ sha256 }, 1);
      metrics.headgate_config_last_success_timestamp_seconds.set(Math.floor(now() / 1000));
      onOtherFile();
    },
    loaded(count: number): void {
      metrics.headgate_policy_reloads_total.inc({ result: 'ok' });
      write('policies_loaded', { policies: count });
    },
    removed(names: readonly string[]): void {
      const policies = names.slice(0, MOST_LISTED);
      write('policies_removed', { policies, more: names.length - policies.length });
    },
    /** Each mistake is written as `file:line:column: path: what is wrong`. */
    refused(all: readonly string[]): void {
      metrics.headgate_policy_reloads_total.inc({ result: 'error' });
      metrics.headgate_config_last_reload_successful.set(0);
      const mistakes = all.slice(0, MOST_LISTED);
      write('policies_refused', { mistakes, more: all.length - mistakes.length });
    },
    note: (text: string): void => write('policy_note', {}, text),
  };
}
