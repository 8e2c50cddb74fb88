/**
 * The lag of the event loop, measured while requests come. The histogram of Node measures it always, and its timer wakes the
 * process up a hundred times a second, which is most of what an idle gateway would cost.
 */
import { createHistogram } from 'node:perf_hooks';
import type { Gauge, Registry } from 'prom-client';

/** Between two measurements. An event loop that is never late has this lag, as in the histogram of Node. */
const EVERY_MS = 10;
const MEASUREMENTS_WITHOUT_REQUESTS = 100;

type Figure = '' | 'min_' | 'max_' | 'mean_' | 'stddev_' | 'p50_' | 'p90_' | 'p99_';

/** Sets the gauges that prom-client has registered. Call what this returns for each request. */
export function measureLag(registry: Registry): () => void {
  /** In nanoseconds, since the metrics were last read. */
  const lags = createHistogram();
  const gauge = (figure: Figure) =>
    registry.getSingleMetric(`nodejs_eventloop_lag_${figure}seconds`) as Gauge;
  const set = (figure: Figure, nanoseconds: number, idleMs = EVERY_MS) =>
    gauge(figure).set(lags.count === 0 ? idleMs / 1e3 : nanoseconds / 1e9);
  const collect = () => {
    const startedMs = performance.now();
    setImmediate(() => gauge('').set((performance.now() - startedMs) / 1e3));
    set('min_', lags.min);
    set('max_', lags.max);
    set('mean_', lags.mean);
    set('stddev_', lags.stddev, 0);
    set('p50_', lags.percentile(50));
    set('p90_', lags.percentile(90));
    set('p99_', lags.percentile(99));
    lags.reset();
  };
  Object.assign(gauge(''), { collect });

  let timer: NodeJS.Timeout | undefined;
  let measuredMs = 0;
  let left = 0;
  const measure = () => {
    const nowMs = performance.now();
    lags.record(Math.max(1, Math.round((nowMs - measuredMs) * 1e6)));
    measuredMs = nowMs;
    left--;
    if (left > 0) return;
    clearInterval(timer);
    timer = undefined;
  };
  return () => {
    left = MEASUREMENTS_WITHOUT_REQUESTS;
    if (timer !== undefined) return;
    measuredMs = performance.now();
    timer = setInterval(measure, EVERY_MS).unref();
  };
}
