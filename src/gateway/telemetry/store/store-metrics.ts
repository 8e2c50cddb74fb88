/** Metrics of the store: round trips, failures, what is in it. */
import { Counter, Gauge, Histogram, type Registry } from 'prom-client';
import { FAST_BUCKETS } from '../fast-buckets.ts';

export function createStoreMetrics(registers: Registry[]) {
  return {
    duration: new Histogram({
      name: 'headgate_store_duration_seconds',
      help: 'Duration of round trips to the store.',
      buckets: FAST_BUCKETS,
      registers,
    }),
    batchSize: new Histogram({
      name: 'headgate_store_batch_requests',
      help: 'Requests that shared one round trip.',
      buckets: [1, 2, 4, 8, 16, 32, 64, 128],
      registers,
    }),
    errors: new Counter({
      name: 'headgate_store_errors_total',
      help: 'Round trips that failed, by reason.',
      labelNames: ['reason'],
      registers,
    }),
    givenUp: new Counter({
      name: 'headgate_store_given_up_total',
      help: 'How often headgate stopped using the store, because it was too slow, until it answered again.',
      registers,
    }),
    degraded: new Gauge({
      name: 'headgate_degraded',
      help: '1 while round trips to the store fail, and until none has failed for 5 seconds. Once a minute, a new connection that counts ends it at once.',
      aggregator: 'max',
      registers,
    }),
    evicted: new Counter({
      name: 'headgate_store_evicted_keys_total',
      help: 'Keys that Redis evicted while this gateway watched, also those of other programs. Every gateway counts the same keys.',
      registers,
    }),
    memoryUsed: new Gauge({
      name: 'headgate_store_memory_used_ratio',
      help: 'Memory that the fullest Redis uses, as a share of its maxmemory. 0 without a maxmemory, and in memory.',
      aggregator: 'max',
      registers,
    }),
    script: new Gauge({
      name: 'headgate_script_info',
      help: '1, with the SHA-1 of the script that counts in Redis.',
      labelNames: ['sha'],
      aggregator: 'max',
      registers,
    }),
    activeWindows: new Gauge({
      name: 'headgate_active_windows',
      help: 'Windows with a count now. In Redis an estimate from a sample of the keys, every 10 seconds.',
      aggregator: 'max',
      registers,
    }),
  };
}
