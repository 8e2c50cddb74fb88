/** Follows what happens to the store: updates its health, and reports to telemetry. */

import type { StoreErrorReason } from '../core/counting/store.ts';
import type { PoliciesByFailureMode } from '../core/policy.ts';
import type { StoreCondition } from '../operations/running-gateway.ts';
import { causeText } from '../telemetry/cause-text.ts';
import type { Telemetry } from '../telemetry/telemetry.ts';
import { followAnswers } from './store-answers.ts';

/**
 * A store that answers now and then, or a cluster that lacks a node, is still degraded. Otherwise the state would change
 * several times a second, and a scrape would miss short failures.
 */
const RECOVERED_AFTER_MS = 5_000;
/** How often a new connection that counts may end the state at once. Connections may break again and again. */
const RECOVERED_BY_CONNECTION_EVERY_MS = 60_000;

export type StoreMonitor = ReturnType<typeof monitorStore>;

export function monitorStore(
  { store, peers, operators }: Pick<Telemetry, 'store' | 'peers' | 'operators'>,
  now: () => number,
) {
  const health = createHealth(now, store);
  // Put into words only for an operator: while the store fails, there may be thousands a second.
  let lastFailure: { readonly reason: string; readonly cause?: unknown } | undefined;
  const answers = followAnswers(now);
  const failedBy = (failure: NonNullable<typeof lastFailure>, checks = 0) => {
    lastFailure = failure;
    answers.failed(failure.reason, checks);
    return health.failed();
  };
  const answeredOtherwise = (): void => {
    answers.answered();
    health.answered();
  };
  return {
    isDegraded: (): boolean => health.state().isDegraded,
    condition(): StoreCondition {
      const { isDegraded, sinceMs } = health.state();
      const found = isDegraded ? answers.lapses() : undefined;
      const isSilent = isDegraded && found === undefined;
      return {
        isDegraded,
        sinceMs: isSilent ? Math.max(sinceMs, answers.lastAnswerMs()) : sinceMs,
        lapses: found,
        reason: isDegraded && lastFailure ? failureText(lastFailure) : undefined,
      };
    },
    answered(durationMs: number, requests: number): void {
      store.answered(durationMs, requests);
      answers.answered(requests);
      health.answered();
    },
    /** `checks`: how many the store did not count for this reason. */
    failed(reason: StoreErrorReason, cause: unknown, checks: number): void {
      const isNew = failedBy({ reason, cause }, checks);
      store.failed(reason, cause, isNew);
    },
    /** The store was too slow, and is not used until it answers again. */
    givenUp(): void {
      store.givenUp();
      failedBy({ reason: 'given_up' });
      answers.givenUp();
    },
    probed: answeredOtherwise,
    connected(): void {
      answers.answered();
      health.connected();
    },
    connectionFailed(error: Error): void {
      failedBy({ reason: 'connection', cause: error });
      store.connectionFailed(error);
    },
    startedUncounted(policies: PoliciesByFailureMode): void {
      failedBy(lastFailure ?? { reason: 'connection' });
      store.startedUncounted(policies);
    },
    /** Redis accepts writes, even if no request needs it at the moment. */
    heartbeatAccepted: answeredOtherwise,
    heartbeatLost(error: unknown): void {
      // If the store is degraded, that is logged already.
      if (!health.state().isDegraded) peers.heartbeatLost(error);
    },
    overridesUnread(error: unknown): void {
      if (!health.state().isDegraded) operators.overridesUnread(error);
    },
  };
}

/** `timeout`, or `connection: ECONNREFUSED` */
function failureText({ reason, cause }: { readonly reason: string; readonly cause?: unknown }) {
  return cause === undefined ? reason : `${reason}: ${causeText(cause)}`;
}

function createHealth(
  now: () => number,
  events: Pick<Telemetry['store'], 'degraded' | 'recovered'>,
) {
  let isDegraded = false;
  let sinceMs = now();
  let lastFailureMs = Number.NEGATIVE_INFINITY;
  let lastConnectionMs = Number.NEGATIVE_INFINITY;
  const recover = () => {
    isDegraded = false;
    sinceMs = now();
    events.recovered();
  };
  const answered = () => {
    // The clock may have been set back.
    if (isDegraded && Math.abs(now() - lastFailureMs) >= RECOVERED_AFTER_MS) recover();
  };
  return {
    state: () => ({ isDegraded, sinceMs }),
    /** Returns whether the store was healthy before. */
    failed(): boolean {
      const wasHealthy = !isDegraded;
      isDegraded = true;
      lastFailureMs = now();
      if (wasHealthy) {
        sinceMs = lastFailureMs;
        events.degraded();
      }
      return wasHealthy;
    },
    answered,
    connected(): void {
      if (!isDegraded) return;
      const nowMs = now();
      if (nowMs - lastConnectionMs < RECOVERED_BY_CONNECTION_EVERY_MS) {
        answered();
        return;
      }
      lastConnectionMs = nowMs;
      recover();
    },
  };
}
