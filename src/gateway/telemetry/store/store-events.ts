/** Reports on the store: round trips, failures, what is in it. */
import type { PoliciesByFailureMode } from '../../core/counting/failure-modes.ts';
import type { StoreErrorReason } from '../../core/counting/store.ts';
import { causeText } from '../cause-text.ts';
import type { TelemetryContext } from '../context.ts';

export interface StoreFailure {
  readonly reason: StoreErrorReason;
  readonly cause: unknown;
  /** The store was healthy before. */
  readonly isNew: boolean;
}

export interface StoreEvents {
  /** A round trip succeeded, for so many requests. Milliseconds. */
  answered(durationMs: number, requests: number): void;
  failed(failure: StoreFailure): void;
  /** The store was too slow, and is not used until it answers again. */
  givenUp(): void;
  connectionFailed(error: Error): void;
  /** The gateway started, and the store does not count yet. */
  startedUncounted(policies: PoliciesByFailureMode): void;
  /** The store failed, and counts as degraded from now on. */
  degraded(): void;
  /** The store has not failed for a while. */
  recovered(): void;
  /** The SHA-1 of the script that counts. */
  scriptInUse(sha: string): void;
  /** How many windows have a count, about. */
  windowsCounted(active: number): void;
  /** The memory of the fullest server, as a share of what it may use. */
  memoryUsed(share: number): void;
  /** Servers evicted so many keys. */
  keysEvicted(count: number): void;
  memoryNearlyFull(share: number, mayEvict: boolean): void;
}

export function createStoreEvents(context: TelemetryContext): StoreEvents {
  const { write, isFirst } = context;
  const metrics = context.metrics.store;
  return {
    answered(durationMs, requests) {
      metrics.duration.observe(durationMs / 1000);
      metrics.batchSize.observe(requests);
    },
    failed({ reason, cause, isNew }) {
      metrics.errors.inc({ reason });
      if (isFirst(`store ${reason}`) || isNew)
        write('store_failed', { reason, cause: causeText(cause) });
    },
    givenUp: () => metrics.givenUp.inc(),
    connectionFailed(error) {
      if (isFirst('connection')) write('store_connection_failed', { cause: causeText(error) });
    },
    startedUncounted: (policies) => write('started_uncounted', policies),
    degraded: () => metrics.degraded.set(1),
    recovered() {
      metrics.degraded.set(0);
      write('store_recovered', {});
    },
    scriptInUse: (sha) => metrics.script.set({ sha }, 1),
    windowsCounted: (active) => metrics.activeWindows.set(active),
    memoryUsed: (share) => metrics.memoryUsed.set(share),
    keysEvicted(count) {
      metrics.evicted.inc(count);
      if (isFirst('evicted')) write('store_evicted_keys', { keys: count });
    },
    memoryNearlyFull(share, mayEvict) {
      if (!isFirst('nearly full')) return;
      const when_full = mayEvict ? 'evicts' : 'refuses';
      write('store_nearly_full', { used_percent: Math.round(100 * share), when_full });
    },
  };
}
