import { collectDefaultMetrics, type Registry } from 'prom-client';
import type { TelemetryContext } from './context.ts';
import { ERROR, type LogLines } from './log/log-line.ts';
import type { MetricRows } from './metrics.ts';

export const PROCESS_LINES = {
  worker_lost: {
    level: 'error',
    message: 'a worker ended unexpectedly: a new one replaces it',
    fields: {
      worker:
        'the number of the worker: workers are numbered from 1 as they start, replacements too; lines that a worker writes itself have another number in `worker`',
      how: 'the signal that ended it, or its exit code',
    },
    runbook: 'HeadgateWorkerLost',
  },
  worker_unresponsive: {
    level: 'error',
    message: 'a worker does not respond: the other workers get new connections',
    fields: { worker: 'the number of the worker' },
    meaning:
      'It has not responded for 3 seconds. If it does not respond for 15 seconds, it is killed and replaced, as `worker_lost`.',
    runbook: 'HeadgateWorkerLost',
  },
  worker_responding: {
    level: 'info',
    message: 'a worker responds again',
    fields: { worker: 'the number of the worker' },
    runbook: 'HeadgateWorkerLost',
  },
  workers_replaced: {
    level: 'info',
    message: 'every worker was replaced',
    fields: { workers: 'how many there are' },
    meaning: 'After SIGUSR2.',
  },
  workers_kept: {
    level: 'error',
    message: 'a new worker did not start: the remaining workers are not replaced',
    fields: { why: 'how the new worker ended' },
    meaning: 'The lines before say what went wrong. Correct it, and send SIGUSR2 again.',
  },
  log_lines_lost: {
    level: 'error',
    message: 'log lines were lost, and can be written again',
    fields: {
      lines: 'how many lines this process lost',
      why: 'the error code of the write: `ENOSPC` means a full disk, `EIO` a closed terminal, `EPIPE` a pipe whose reader has ended, `EAGAIN` a reader that was slow for too long',
    },
    meaning:
      'Requests were answered and counted as always. Until lines can be written, only the metric `headgate_log_lines_lost_total` shows the loss.',
    runbook: 'HeadgateLogLinesLost',
    always: true,
  },
  stopping: {
    level: 'info',
    message: 'stopping',
    fields: { signal: 'the signal that the process received' },
    runbook: 'HeadgateDown',
  },
  crashed: {
    level: 'fatal',
    message: 'stopping after a fault',
    fields: { err: ERROR },
    meaning:
      'Keep the line for a bug report, and start headgate again. Workers are replaced automatically.',
    runbook: 'HeadgateDown',
  },
  stopped_by_force: {
    level: 'warn',
    message: 'stopped before every request was answered',
    fields: { why: 'a second signal, or the time limit' },
    runbook: 'HeadgateDown',
  },
} as const satisfies LogLines;

const PROCESS_METRICS = {
  headgate_build_info: {
    help: '1, with the versions of headgate and of Node.',
    labels: ['version', 'node'],
    aggregator: 'max',
  },
  headgate_workers_lost_total: { help: 'Worker processes that ended unexpectedly.' },
  headgate_workers_unresponsive_total: {
    help: 'How often a worker process did not respond for 3 seconds.',
  },
  headgate_log_lines_lost_total: {
    help: 'Log lines that could not be written to standard output: a full disk, a closed terminal or pipe, or a reader that is too slow.',
  },
} as const satisfies MetricRows;

export function createProcessEvents({ linesOf, metricsOf }: TelemetryContext, version: string) {
  const write = linesOf(PROCESS_LINES);
  const metrics = metricsOf(PROCESS_METRICS);
  metrics.headgate_build_info.set({ version, node: process.version }, 1);
  return {
    workers: {
      lost(worker: number, how: string): void {
        metrics.headgate_workers_lost_total.inc();
        write('worker_lost', { worker, how });
      },
      unresponsive(worker: number): void {
        metrics.headgate_workers_unresponsive_total.inc();
        write('worker_unresponsive', { worker });
      },
      responding: (worker: number): void => write('worker_responding', { worker }),
      replaced: (workers: number): void => write('workers_replaced', { workers }),
      kept: (why: string): void => write('workers_kept', { why }),
    },
    log: {
      lost: (lines: number): void => metrics.headgate_log_lines_lost_total.inc(lines),
      restored: (lines: number, why: string): void => write('log_lines_lost', { lines, why }),
    },
    lifecycle: {
      stopping: (signal: string | undefined): void => write('stopping', { signal }),
      crashed: (error: unknown): void => write('crashed', { err: error }),
      stoppedByForce: (why: string): void => write('stopped_by_force', { why }),
    },
  };
}

/** prom-client's own timer must not wake the process up: event-loop-lag.ts measures in its place. */
const NEVER_MS = 2 ** 31 - 1;

export function collectNodeMetrics(registry: Registry): void {
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: NEVER_MS });
  // The default leaves it out if there are several workers. All of them start after their supervisor.
  const started = registry.getSingleMetric('process_start_time_seconds');
  if (started !== undefined) Object.assign(started, { aggregator: 'min' });
}
