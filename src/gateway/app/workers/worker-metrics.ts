/**
 * Adds up the metrics of several processes. What ended processes had counted stays in the sums: Prometheus would take a
 * counter that falls for a restart, and count its value again.
 */
import { AggregatorRegistry } from 'prom-client';
import type { MetricValues } from './messages.ts';

export class WorkerMetrics {
  #ended: MetricValues = [];

  addEnded(metrics: MetricValues): void {
    const counted = metrics.filter(({ type }) => isCounted(String(type)));
    const sum = AggregatorRegistry.aggregate([this.#ended, counted]);
    this.#ended = sum.getMetricsAsArray() as unknown as MetricValues;
  }

  /** Returns the text format of Prometheus. It adds up synchronously, so that no process can end meanwhile and count twice. */
  textOf(metrics: readonly MetricValues[]): Promise<string> {
    return AggregatorRegistry.aggregate([this.#ended, ...metrics]).metrics();
  }
}

/** A gauge describes a running process, so it does not outlive it. */
function isCounted(type: string): boolean {
  return type === 'counter' || type === 'histogram';
}
