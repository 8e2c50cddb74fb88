/** Follows what happens to the store: updates its health, and reports to telemetry. */
import type { StoreErrorReason } from '../core/counting/store.ts';
import type { PoliciesByFailureMode } from '../core/policy.ts';
import type { StoreCondition, StoreLapses } from '../operations/running-gateway.ts';
import { causeText } from '../telemetry/cause-text.ts';
import type { Telemetry } from '../telemetry/telemetry.ts';

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
  const recent = countRecentChecks(now);
  // Put into words only for an operator: while the store fails, there may be thousands a second.
  let lastFailure: { readonly reason: string; readonly cause?: unknown } | undefined;
  let isGivenUp = false;
  const failedBy = (failure: NonNullable<typeof lastFailure>, checks = 0) => {
    lastFailure = failure;
    recent.add('failed', checks);
    return health.failed();
  };
  /** The store answered anything, and counted so many checks. */
  const noteAnswer = (checks = 0) => {
    recent.add('counted', checks);
    isGivenUp = false;
  };
  const answered = (checks = 0): void => {
    noteAnswer(checks);
    health.answered();
  };
  /** That the store is degraded is logged already. */
  const unlessDegraded = (report: (error: unknown) => void) => (error: unknown) => {
    if (!health.state().isDegraded) report(error);
  };
  return {
    isDegraded: (): boolean => health.state().isDegraded,
    condition(): StoreCondition {
      const { isDegraded, sinceMs, lastAnswerMs, hasAnswered } = health.state();
      // A timeout is a late answer, unless too many follow each other.
      const mayBeLate = lastFailure?.reason === 'timeout' && !isGivenUp;
      const found = isDegraded ? lapsesIn(recent.sums(), mayBeLate, hasAnswered) : undefined;
      const isSilent = isDegraded && found === undefined;
      return {
        isDegraded,
        sinceMs: isSilent ? Math.max(sinceMs, lastAnswerMs) : sinceMs,
        lapses: found,
        reason: isDegraded && lastFailure ? failureText(lastFailure) : undefined,
      };
    },
    answered(durationMs: number, requests: number): void {
      store.answered(durationMs, requests);
      answered(requests);
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
      isGivenUp = true;
    },
    probed: (): void => answered(),
    connected(): void {
      noteAnswer();
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
    heartbeatAccepted: (): void => answered(),
    heartbeatLost: unlessDegraded(peers.heartbeatLost),
    overridesUnread: unlessDegraded(operators.overridesUnread),
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
  let lastAnswerMs = Number.NEGATIVE_INFINITY;
  /** Since the last failure. */
  let hasAnswered = true;
  const recover = () => {
    isDegraded = false;
    sinceMs = now();
    events.recovered();
  };
  const noteAnswer = () => {
    lastAnswerMs = now();
    hasAnswered = true;
  };
  const answered = () => {
    noteAnswer();
    // The clock may have been set back.
    if (isDegraded && Math.abs(now() - lastFailureMs) >= RECOVERED_AFTER_MS) recover();
  };
  return {
    state: () => ({ isDegraded, sinceMs, lastAnswerMs, hasAnswered }),
    /** Returns whether the store was healthy before. */
    failed(): boolean {
      const wasHealthy = !isDegraded;
      hasAnswered = false;
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
      noteAnswer();
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

const BUCKET_MS = 1_000;
const BUCKETS = 10;

/** Undefined if the store does not answer at all. After other failures than a late answer, an answer has to come first. */
function lapsesIn(
  { counted, failed }: Record<'counted' | 'failed', number>,
  mayBeLate: boolean,
  hasAnswered: boolean,
): StoreLapses | undefined {
  const isAnswering = mayBeLate ? counted > 0 || hasAnswered : counted > 0 && hasAnswered;
  if (!isAnswering) return undefined;
  return { failed, checks: counted + failed, withinMs: BUCKETS * BUCKET_MS };
}

/** The checks of the last seconds. */
function countRecentChecks(now: () => number) {
  const buckets: { second: number; counted: number; failed: number }[] = [];
  const currentSecond = () => Math.floor(now() / BUCKET_MS);
  return {
    add(what: 'counted' | 'failed', checks: number): void {
      const second = currentSecond();
      let bucket = buckets[second % BUCKETS];
      if (bucket?.second !== second) {
        bucket = { second, counted: 0, failed: 0 };
        buckets[second % BUCKETS] = bucket;
      }
      bucket[what] += checks;
    },
    sums() {
      const second = currentSecond();
      const sums = { counted: 0, failed: 0 };
      for (const bucket of buckets) {
        if (bucket === undefined || bucket.second > second || bucket.second <= second - BUCKETS)
          continue;
        sums.counted += bucket.counted;
        sums.failed += bucket.failed;
      }
      return sums;
    },
  };
}
