/** Follows what happens to the store: updates its health, and reports to telemetry. */
import type { PoliciesByFailureMode } from '../core/failure-modes.ts';
import type { StoreErrorReason } from '../core/store.ts';
import { causeText } from '../telemetry/cause-text.ts';
import type { Telemetry } from '../telemetry/telemetry.ts';
import { StoreHealth } from './store-health.ts';

export interface StoreCondition {
  /** The store failed lately. */
  readonly isDegraded: boolean;
  /** When that last changed, milliseconds since the epoch. */
  readonly sinceMs: number;
  /** The last failure, in a few words; undefined for a store that is well. */
  readonly reason: string | undefined;
}

export interface StoreMonitor {
  /** The store failed lately. */
  isDegraded(): boolean;
  condition(): StoreCondition;
  /** A round trip succeeded, for so many requests. Milliseconds. */
  answered(durationMs: number, requests: number): void;
  failed(reason: StoreErrorReason, cause: unknown): void;
  /** The store was too slow, and is not used until it answers again. */
  givenUp(): void;
  /** A store that was given up answers a probe. */
  probed(): void;
  /** A new connection counts. */
  connected(): void;
  connectionFailed(error: Error): void;
  startedUncounted(policies: PoliciesByFailureMode): void;
  /** Redis accepts writes, even if no request needs it at the moment. */
  heartbeatAccepted(): void;
  heartbeatLost(error: unknown): void;
  overridesUnread(error: unknown): void;
}

export function monitorStore(
  { store, peers, operators }: Pick<Telemetry, 'store' | 'peers' | 'operators'>,
  now: () => number,
): StoreMonitor {
  const health = new StoreHealth({
    now,
    onDegraded: store.degraded,
    onRecovered: store.recovered,
  });
  // Put into words only for an operator: while the store fails, there may be thousands a second.
  let lastFailure: { readonly reason: string; readonly cause?: unknown } | undefined;
  return {
    isDegraded: () => health.isDegraded,
    condition: () => ({
      isDegraded: health.isDegraded,
      sinceMs: health.sinceMs,
      reason: health.isDegraded && lastFailure ? failureText(lastFailure) : undefined,
    }),
    answered(durationMs, requests) {
      store.answered(durationMs, requests);
      health.answered();
    },
    failed(reason, cause) {
      lastFailure = { reason, cause };
      const isNew = health.failed();
      store.failed({ reason, cause, isNew });
    },
    givenUp() {
      lastFailure = { reason: 'given_up' };
      store.givenUp();
      health.failed();
    },
    probed: () => health.answered(),
    connected: () => health.connected(),
    connectionFailed(error) {
      lastFailure = { reason: 'connection', cause: error };
      health.failed();
      store.connectionFailed(error);
    },
    startedUncounted(policies) {
      lastFailure ??= { reason: 'connection' };
      health.failed();
      store.startedUncounted(policies);
    },
    heartbeatAccepted: () => health.answered(),
    heartbeatLost(error) {
      // If the store is degraded, that is logged already.
      if (!health.isDegraded) peers.heartbeatLost(error);
    },
    overridesUnread(error) {
      if (!health.isDegraded) operators.overridesUnread(error);
    },
  };
}

/** `timeout`, or `connection: ECONNREFUSED` */
function failureText({ reason, cause }: { readonly reason: string; readonly cause?: unknown }) {
  return cause === undefined ? reason : `${reason}: ${causeText(cause)}`;
}
