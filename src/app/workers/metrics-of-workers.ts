/**
 * The metrics of several processes as those of one. What a process that is gone had counted stays in the sums: a
 * counter that falls would look to Prometheus like a restart, and be counted once more.
 */
import { AggregatorRegistry } from 'prom-client';
import type { Metrics } from './messages.ts';

export class FleetMetrics {
  #departed: Metrics = [];

  addDeparted(metrics: Metrics): void {
    const counted = metrics.filter(({ type }) => isCounted(String(type)));
    const sum = AggregatorRegistry.aggregate([this.#departed, counted]);
    this.#departed = sum.getMetricsAsArray() as unknown as Metrics;
  }

  /** In the text format of Prometheus. At once, so that nobody departs in between and is counted twice. */
  textOf(metrics: readonly Metrics[]): Promise<string> {
    return AggregatorRegistry.aggregate([this.#departed, ...metrics]).metrics();
  }
}

/** A gauge is what a process is, and is gone with it. */
function isCounted(type: string): boolean {
  return type === 'counter' || type === 'histogram';
}
