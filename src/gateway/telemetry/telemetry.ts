/** Metrics and log lines: the other rooms report events here, each to the topic that it is about. */
import { Registry } from 'prom-client';
import { atMostOneAMinute, createRepeatFilter, type TelemetryContext } from './context.ts';
import { createDecisionEvents } from './decisions/decision-events.ts';
import { TrafficHistory } from './decisions/traffic-history.ts';
import { measureLag } from './event-loop-lag.ts';
import { createKeyEvents } from './keys.ts';
import { createLog, type LogOptions } from './log/log.ts';
import { metricsIn } from './metrics.ts';
import { createOperatorEvents } from './operators.ts';
import { createPeerEvents } from './peers.ts';
import { createPolicyFileEvents } from './policy-file.ts';
import { collectNodeMetrics, createProcessEvents } from './process.ts';
import { createProxyEvents } from './proxies.ts';
import { createRateLimitEvents } from './rate-limits.ts';
import { createSettlementEvents } from './settlements.ts';
import { createStoreEvents } from './store.ts';
import { createTracingEvents } from './tracing/tracing.ts';

export type Telemetry = ReturnType<typeof createTelemetry>;

export interface TelemetryOptions extends LogOptions {
  readonly version: string;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
}

interface Logging {
  readonly level?: string | undefined;
  /** One in so many allowed requests is logged; none if undefined. */
  readonly allowsOneIn?: number | undefined;
}

export function createTelemetry(options: TelemetryOptions) {
  const { now, level, version } = options;
  const registry = new Registry();
  const log = createLog(options, {
    onLost: (lines) => processes.log.lost(lines),
    report: (lines, why) => processes.log.restored(lines, why),
  });
  const filter = createRepeatFilter(now);
  const linesOf = atMostOneAMinute(log.linesOf, filter.isFirst);
  const context: TelemetryContext = { linesOf, metricsOf: metricsIn(registry), now, ...filter };
  // docs/metrics.md lists the metrics in this order.
  collectNodeMetrics(registry);
  const { decisions, sampleAllows, totals } = createDecisionEvents(context, measureLag(registry));
  const { proxies, proxyFaults, onOtherPolicyFile } = createProxyEvents(context);
  const store = createStoreEvents(context);
  const keys = createKeyEvents(context);
  const operators = createOperatorEvents(context);
  const policyFile = createPolicyFileEvents(context, onOtherPolicyFile);
  const rateLimits = createRateLimitEvents(context);
  const { settlements, outcomes } = createSettlementEvents(context);
  const processes = createProcessEvents(context, version);
  return {
    registry,
    decisions,
    proxies,
    proxyFaults,
    store,
    keys,
    peers: createPeerEvents(context),
    operators,
    policyFile,
    rateLimits,
    settlements,
    outcomes,
    ...processes,
    tracing: createTracingEvents(context),
    traffic: new TrafficHistory(totals, now()),
    /** What `logging` leaves out is as it was at the start. */
    setLogging(logging: Logging): void {
      log.setLevel(logging.level ?? level);
      sampleAllows(logging.allowsOneIn ?? 0);
    },
    print: log.print,
    close: log.flush,
  };
}
