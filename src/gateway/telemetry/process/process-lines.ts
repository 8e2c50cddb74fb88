/** Log lines about processes: workers, the log, and how a process ends. */
import { ERROR, type LogLines } from '../log/log-line.ts';

export const WORKER_LINES = {
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
} as const satisfies LogLines;

export const LOSS_LINES = {
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
} as const satisfies LogLines;

const runbook = 'HeadgateDown';

export const LIFECYCLE_LINES = {
  stopping: {
    level: 'info',
    message: 'stopping',
    fields: { signal: 'the signal that the process received' },
    runbook,
  },
  crashed: {
    level: 'fatal',
    message: 'stopping after a fault',
    fields: { err: ERROR },
    meaning:
      'Keep the line for a bug report, and start headgate again. Workers are replaced automatically.',
    runbook,
  },
  stopped_by_force: {
    level: 'warn',
    message: 'stopped before every request was answered',
    fields: { why: 'a second signal, or the time limit' },
    runbook,
  },
} as const satisfies LogLines;
