/** Follows what happens to the store: updates its health, and reports to telemetry. */
import type { PoliciesByFailureMode } from '../core/counting/failure-modes.ts';
import type { StoreErrorReason } from '../core/counting/store.ts';
import type { StoreCondition } from '../operations/running-gateway.ts';
import { causeText } from '../telemetry/cause-text.ts';
import type { Telemetry } from '../telemetry/telemetry.ts';
import { StoreAnswers } from './store-answers.ts';
import { StoreHealth } from './store-health.ts';

export interface StoreMonitor {
  /** The store failed lately. */
  isDegraded(): boolean;
  condition(): StoreCondition;
  /** A round trip succeeded, for so many requests. Milliseconds. */
  answered(durationMs: number, requests: number): void;
  /** `checks`: how many the store did not count for this reason. */
  failed(reason: StoreErrorReason, cause: unknown, checks: number): void;
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
  const answers = new StoreAnswers(now);
  const failedBy = (failure: NonNullable<typeof lastFailure>, checks = 0) => {
    lastFailure = failure;
    answers.failed(failure.reason, checks);
    return health.failed();
  };
  return {
    isDegraded: () => health.isDegraded,
    condition() {
      const { isDegraded, sinceMs } = health;
      const found = isDegraded ? answers.lapses() : undefined;
      const isSilent = isDegraded && found === undefined;
      return {
        isDegraded,
        sinceMs: isSilent ? Math.max(sinceMs, answers.lastAnswerMs) : sinceMs,
        lapses: found,
        reason: isDegraded && lastFailure ? failureText(lastFailure) : undefined,
      };
    },
    answered(durationMs, requests) {
      store.answered(durationMs, requests);
      answers.answered(requests);
      health.answered();
    },
    failed(reason, cause, checks) {
      const isNew = failedBy({ reason, cause }, checks);
      store.failed({ reason, cause, isNew });
    },
    givenUp() {
      store.givenUp();
      failedBy({ reason: 'given_up' });
      answers.givenUp();
    },
    probed() {
      answers.answered();
      health.answered();
    },
    connected() {
      answers.answered();
      health.connected();
    },
    connectionFailed(error) {
      failedBy({ reason: 'connection', cause: error });
      store.connectionFailed(error);
    },
    startedUncounted(policies) {
      failedBy(lastFailure ?? { reason: 'connection' });
      store.startedUncounted(policies);
    },
    heartbeatAccepted() {
      answers.answered();
      health.answered();
    },
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
