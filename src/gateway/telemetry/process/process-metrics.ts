/** Metrics of processes: versions, lost workers, lost log lines, and what Node reports by itself. */
import { Counter, collectDefaultMetrics, Gauge, type Registry } from 'prom-client';

export function createProcessMetrics(registers: Registry[]) {
  return {
    build: new Gauge({
      name: 'headgate_build_info',
      help: '1, with the versions of headgate and of Node.',
      labelNames: ['version', 'node'],
      aggregator: 'max',
      registers,
    }),
    workersLost: new Counter({
      name: 'headgate_workers_lost_total',
      help: 'Worker processes that ended unexpectedly.',
      registers,
    }),
    workersUnresponsive: new Counter({
      name: 'headgate_workers_unresponsive_total',
      help: 'How often a worker process did not respond for 3 seconds.',
      registers,
    }),
    logLinesLost: new Counter({
      name: 'headgate_log_lines_lost_total',
      help: 'Log lines that could not be written to standard output: a full disk, a closed terminal or pipe, or a reader that is too slow.',
      registers,
    }),
  };
}

export function collectNodeMetrics(registry: Registry): void {
  collectDefaultMetrics({ register: registry });
  // The default leaves it out if there are several workers. All of them start after their supervisor.
  const started = registry.getSingleMetric('process_start_time_seconds');
  if (started !== undefined) Object.assign(started, { aggregator: 'min' });
}
