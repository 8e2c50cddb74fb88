/** Reports on processes: workers, the log, and how a process ends. */
import type { TelemetryContext } from '../context.ts';

export interface WorkerEvents {
  /** A worker ended unexpectedly. `how`: a signal or an exit code. */
  lost(worker: number, how: string): void;
  /** A worker has not responded for three seconds. */
  unresponsive(worker: number): void;
  /** Such a worker responds again. */
  responding(worker: number): void;
  /** So many workers were replaced. */
  replaced(count: number): void;
  /** A new worker did not start, so the remaining ones are not replaced. */
  kept(why: string): void;
}

export function createWorkerEvents({ write, metrics }: TelemetryContext): WorkerEvents {
  return {
    lost(worker, how) {
      metrics.process.workersLost.inc();
      write('worker_lost', { worker, how });
    },
    unresponsive(worker) {
      metrics.process.workersUnresponsive.inc();
      write('worker_unresponsive', { worker });
    },
    responding: (worker) => write('worker_responding', { worker }),
    replaced: (workers) => write('workers_replaced', { workers }),
    kept: (why) => write('workers_kept', { why }),
  };
}

export interface LogEvents {
  /** So many lines could not be written. */
  lost(lines: number): void;
  /** Lines can be written again. `why`: the error code of the writes that failed. */
  restored(lostLines: number, why: string): void;
}

export function createLogEvents({ write, metrics }: TelemetryContext): LogEvents {
  return {
    lost: (lines) => metrics.process.logLinesLost.inc(lines),
    restored: (lines, why) => write('log_lines_lost', { lines, why }),
  };
}

export interface LifecycleEvents {
  stopping(signal: string | undefined): void;
  crashed(error: unknown): void;
  stoppedByForce(why: string): void;
}

export function createLifecycleEvents({ write }: TelemetryContext): LifecycleEvents {
  return {
    stopping: (signal) => write('stopping', { signal }),
    crashed: (error) => write('crashed', { err: error }),
    stoppedByForce: (why) => write('stopped_by_force', { why }),
  };
}
