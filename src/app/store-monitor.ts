/** Follows what happens to the store: updates its health, and reports to telemetry. */
import type { PoliciesByFailureMode } from '../core/failure-modes.ts';
import type { StoreErrorReason } from '../core/store.ts';
import { causeText } from '../telemetry/cause-text.ts';
import type { Telemetry } from '../telemetry/telemetry.ts';
import { RECENT_CHECKS_MS, RecentChecks } from './recent-checks.ts';
import { StoreHealth } from './store-health.ts';

export interface StoreCondition {
  /** The store failed lately. */
  readonly isDegraded: boolean;
  /** When that last changed or, for a store that does not answer, since when; milliseconds since the epoch. */
  readonly sinceMs: number;
  /** The store failed some checks and counts others. Undefined if it is well, or does not answer at all. */
  readonly lapses: StoreLapses | undefined;
  /** The last failure, in a few words; undefined for a store that is well. */
  readonly reason: string | undefined;
}

/** Of the checks of the last seconds. */
export interface StoreLapses {
  readonly failed: number;
  readonly checks: number;
  readonly withinMs: number;
}

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
  const recent = new RecentChecks();
  let hasAnsweredSince = true;
  let isGivenUp = false;
  let lastAnswerMs = Number.NEGATIVE_INFINITY;
  const failedBy = (failure: NonNullable<typeof lastFailure>) => {
    lastFailure = failure;
    hasAnsweredSince = false;
    return health.failed();
  };
  const heard = () => {
    hasAnsweredSince = true;
    isGivenUp = false;
    lastAnswerMs = now();
  };
  const lapses = (): StoreLapses | undefined => {
    if (!health.isDegraded) return undefined;
    const { counted, failed } = recent.sums(now());
    // A timeout is a late answer, unless too many follow each other. After other failures an answer has to come first.
    const isTimeout = lastFailure?.reason === 'timeout' && !isGivenUp;
    const isLate = isTimeout && (counted > 0 || hasAnsweredSince);
    if (!isLate && (counted === 0 || !hasAnsweredSince)) return undefined;
    return { failed, checks: counted + failed, withinMs: RECENT_CHECKS_MS };
  };
  return {
    isDegraded: () => health.isDegraded,
    condition() {
      const { isDegraded, sinceMs } = health;
      const found = lapses();
      const isSilent = isDegraded && found === undefined;
      return {
        isDegraded,
        sinceMs: isSilent ? Math.max(sinceMs, lastAnswerMs) : sinceMs,
        lapses: found,
        reason: isDegraded && lastFailure ? failureText(lastFailure) : undefined,
      };
    },
    answered(durationMs, requests) {
      store.answered(durationMs, requests);
      recent.add(now(), 'counted', requests);
      heard();
      health.answered();
    },
    failed(reason, cause, checks) {
      recent.add(now(), 'failed', checks);
      const isNew = failedBy({ reason, cause });
      store.failed({ reason, cause, isNew });
    },
    givenUp() {
      store.givenUp();
      isGivenUp = true;
      failedBy({ reason: 'given_up' });
    },
    probed() {
      heard();
      health.answered();
    },
    connected() {
      heard();
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
      heard();
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
