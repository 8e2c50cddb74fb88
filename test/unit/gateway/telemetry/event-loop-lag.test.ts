import { collectDefaultMetrics, Registry } from 'prom-client';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { measureLag } from '../../../../src/gateway/telemetry/event-loop-lag.ts';

beforeEach(() =>
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'setImmediate', 'performance'] }),
);
afterEach(() => vi.useRealTimers());

function setUp() {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: 2 ** 31 - 1 });
  const requested = measureLag(registry);
  /** Milliseconds since the metrics were read before. */
  const lag = async (figure: string) => {
    // The first of the gauges sets all.
    await registry.getSingleMetric('nodejs_eventloop_lag_seconds')?.get();
    const read = await registry.getSingleMetric(`nodejs_eventloop_lag_${figure}_seconds`)?.get();
    return Math.round((read?.values[0]?.value ?? 0) * 1_000);
  };
  return { requested, lag };
}

test.each(['min', 'max', 'mean', 'p50', 'p90', 'p99'])(
  'without requests, nothing is measured and an idle lag is shown: %s',
  async (figure) => {
    const { lag } = setUp();
    expect(vi.getTimerCount()).toBe(0);
    expect(await lag(figure)).toBe(10);
    expect(await lag('stddev')).toBe(0);
  },
);

test('the lag is measured from the first request on', async () => {
  const { requested, lag } = setUp();
  vi.advanceTimersByTime(5_000);
  requested();
  vi.advanceTimersByTime(100);
  expect(await lag('max')).toBe(10);
});

test('what was measured before an idle time is shown, and the idle time is no lag', async () => {
  const { requested, lag } = setUp();
  requested();
  // The event loop stands still for 90 ms.
  const nowMs = performance.now();
  const standing = vi.spyOn(performance, 'now').mockReturnValue(nowMs + 90);
  vi.advanceTimersByTime(10);
  standing.mockRestore();
  vi.advanceTimersByTime(80);
  vi.advanceTimersByTime(60_000);
  expect(vi.getTimerCount()).toBe(0);
  requested();
  vi.advanceTimersByTime(50);
  expect(await lag('max')).toBe(90);
  vi.advanceTimersByTime(50);
  expect(await lag('max')).toBe(10);
});

test('requests keep it awake, and a second without them ends it', () => {
  const { requested } = setUp();
  for (let i = 0; i < 30; i++) {
    requested();
    vi.advanceTimersByTime(900);
  }
  expect(vi.getTimerCount()).toBe(1);
  vi.advanceTimersByTime(1_000);
  expect(vi.getTimerCount()).toBe(0);
});
