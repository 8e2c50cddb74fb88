import { Counter, Gauge, Histogram, Registry } from 'prom-client';
import { expect, test } from 'vitest';
import { WorkerMetrics } from '../../../../src/gateway/app/worker-gateway.ts';

/** The metrics of a worker that has counted so many requests. */
async function metricsOf(requests: number) {
  const registry = new Registry();
  const registers = [registry];
  new Counter({ name: 'requests', help: 'Requests.', registers }).inc(requests);
  new Gauge({ name: 'memory', help: 'Memory.', registers }).set(10);
  new Histogram({ name: 'duration', help: 'Duration.', buckets: [1], registers }).observe(requests);
  return registry.getMetricsAsJSON();
}

const samples = (text: string) =>
  text.split('\n').filter((line) => /^(requests|memory|duration_(sum|count)) /.test(line));

test('counters and histograms keep what ended workers counted, gauges do not', async () => {
  const metrics = new WorkerMetrics();
  metrics.addEnded(await metricsOf(3));
  metrics.addEnded(await metricsOf(4));
  metrics.addEnded([]);
  const text = await metrics.textOf([await metricsOf(5), await metricsOf(6)]);
  expect(samples(text).sort()).toEqual([
    'duration_count 4',
    'duration_sum 18',
    'memory 20',
    'requests 18',
  ]);
  const alone = await metrics.textOf([]);
  expect(samples(alone).sort()).toEqual(['duration_count 2', 'duration_sum 7', 'requests 7']);
});
