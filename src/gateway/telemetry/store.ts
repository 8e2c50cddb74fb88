import type { StoreErrorReason } from '../core/counting/store.ts';
import type { PoliciesByFailureMode } from '../core/policy.ts';
import { causeText } from './cause-text.ts';
import type { TelemetryContext } from './context.ts';
import { CAUSE, type LogLines, ONE_A_MINUTE } from './log/log-line.ts';
import { FAST_BUCKETS, type MetricRows } from './metrics.ts';

const runbook = 'HeadgateStoreDegraded';

export const STORE_LINES = {
  store_failed: {
    level: 'error',
    message: 'the store failed: policies follow their on_store_failure',
    fields: {
      reason:
        'what went wrong, in one word, see [failure modes](failure-modes.md#what-headgate-reports)',
      cause: CAUSE,
    },
    runbook,
    atMost: 'one a minute for each `reason`, and one when it begins',
  },
  started_uncounted: {
    level: 'error',
    message:
      'the gateway started, but Redis does not count yet: until it does, policies follow their on_store_failure',
    fields: {
      allow: 'a list of the policies whose requests pass uncounted',
      local: 'a list of the policies that each gateway counts by itself',
      deny: 'a list of the policies whose requests are denied',
    },
    meaning:
      'Redis is down, hangs, takes longer than half a second, or refuses to count: `headgate check --redis` says which. `store_recovered` follows when it counts. Each worker logs this.',
    runbook,
  },
  store_recovered: {
    level: 'info',
    message: 'the store answers: requests are counted again',
    fields: {},
    meaning:
      'Ends `started_uncounted`, `store_failed` and `store_connection_failed`. Logged when no round trip has failed for 5 seconds. Once a minute, a new connection that counts is enough.',
    runbook,
  },
  store_evicted_keys: {
    level: 'warn',
    message:
      'Redis evicted keys: clients whose counters were among them have new limits; give it more memory, and set maxmemory-policy noeviction',
    fields: { keys: 'how many keys it evicted within 10 seconds, also those of other programs' },
    runbook: 'HeadgateStoreMemory',
    atMost: ONE_A_MINUTE,
  },
  store_nearly_full: {
    level: 'warn',
    message: 'the memory of Redis is nearly full: give it more',
    fields: {
      used_percent: 'how much of its `maxmemory` the fullest server uses',
      when_full:
        '`evicts`: it will drop counters, so clients get new limits; `refuses`: policies will follow their `on_store_failure`',
    },
    runbook: 'HeadgateStoreMemory',
    atMost: ONE_A_MINUTE,
  },
  store_connection_failed: {
    level: 'warn',
    message: 'cannot connect to Redis, trying again',
    fields: { cause: CAUSE },
    meaning:
      'No server listens there, or Redis refused the handshake: `headgate check --redis` says which.',
    runbook,
    atMost: ONE_A_MINUTE,
  },
} as const satisfies LogLines;

const STORE_METRICS = {
  headgate_store_duration_seconds: {
    help: 'Duration of round trips to the store.',
    buckets: FAST_BUCKETS,
  },
  headgate_store_batch_requests: {
    help: 'Requests that shared one round trip.',
    buckets: [1, 2, 4, 8, 16, 32, 64, 128],
  },
  headgate_store_errors_total: { help: 'Round trips that failed, by reason.', labels: ['reason'] },
  headgate_store_given_up_total: {
    help: 'How often headgate stopped using the store, because it was too slow, until it answered again.',
  },
  headgate_degraded: {
    help: '1 while round trips to the store fail, and until none has failed for 5 seconds. Once a minute, a new connection that counts ends it at once.',
    aggregator: 'max',
  },
  headgate_store_evicted_keys_total: {
    help: 'Keys that Redis evicted while this gateway watched, also those of other programs. Every gateway counts the same keys.',
  },
  headgate_store_memory_used_ratio: {
    help: 'Memory that the fullest Redis uses, as a share of its maxmemory. 0 without a maxmemory, and in memory.',
    aggregator: 'max',
  },
  headgate_script_info: {
    help: '1, with the SHA-1 of the script that counts in Redis.',
    labels: ['sha'],
    aggregator: 'max',
  },
  headgate_active_windows: {
    help: 'Windows with a count now. In Redis an estimate from a sample of the keys, every 10 seconds.',
    aggregator: 'max',
  },
} as const satisfies MetricRows;

export function createStoreEvents({ linesOf, metricsOf, isFirst }: TelemetryContext) {
  const write = linesOf(STORE_LINES);
  const metrics = metricsOf(STORE_METRICS);
  return {
    answered(durationMs: number, requests: number): void {
      metrics.headgate_store_duration_seconds.observe(durationMs / 1000);
      metrics.headgate_store_batch_requests.observe(requests);
    },
    /** `isNew`: the store was healthy before. */
    failed(reason: StoreErrorReason, cause: unknown, isNew: boolean): void {
      metrics.headgate_store_errors_total.inc({ reason });
      if (isFirst(`store ${reason}`) || isNew)
        write('store_failed', { reason, cause: causeText(cause) });
    },
    /** The store was too slow, and is not used until it answers again. */
    givenUp: (): void => metrics.headgate_store_given_up_total.inc(),
    connectionFailed: (error: Error): void =>
      write('store_connection_failed', { cause: causeText(error) }),
    startedUncounted: (policies: PoliciesByFailureMode): void =>
      write('started_uncounted', policies),
    degraded: (): void => metrics.headgate_degraded.set(1),
    recovered(): void {
      metrics.headgate_degraded.set(0);
      write('store_recovered', {});
    },
    scriptInUse: (sha: string): void => metrics.headgate_script_info.set({ sha }, 1),
    windowsCounted: (active: number): void => metrics.headgate_active_windows.set(active),
    /** The memory of the fullest server, as a share of what it may use. */
    memoryUsed: (share: number): void => metrics.headgate_store_memory_used_ratio.set(share),
    keysEvicted(count: number): void {
      metrics.headgate_store_evicted_keys_total.inc(count);
      write('store_evicted_keys', { keys: count });
    },
    memoryNearlyFull(share: number, mayEvict: boolean): void {
      const when_full = mayEvict ? 'evicts' : 'refuses';
      write('store_nearly_full', { used_percent: Math.round(100 * share), when_full });
    },
  };
}
