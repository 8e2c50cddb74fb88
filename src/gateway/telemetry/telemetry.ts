/** Metrics and log lines: the other rooms report events here, each to the part that is about its subject. */
import type { Registry } from 'prom-client';
import type { TelemetryContext } from './context.ts';
import { createDecisionEvents, type DecisionEvents } from './decisions/decision-events.ts';
import { TrafficHistory } from './decisions/traffic-history.ts';
import { createLog, type LogOptions } from './log/log.ts';
import { createRepeatFilter } from './log/repeat-filter.ts';
import { createMetrics } from './metrics.ts';
import { createOperatorEvents, type OperatorEvents } from './operators/operator-events.ts';
import { createPeerEvents, type PeerEvents } from './peers/peer-events.ts';
import {
  createPolicyFileEvents,
  type PolicyFileEvents,
} from './policy-files/policy-file-events.ts';
import {
  createLifecycleEvents,
  createLogEvents,
  createWorkerEvents,
  type LifecycleEvents,
  type LogEvents,
  type WorkerEvents,
} from './process/process-events.ts';
import { createProxyEvents, type ProxyEvents, type ProxyFaults } from './proxies/proxy-events.ts';
import { createRateLimitEvents, type RateLimitEvents } from './rate-limits/rate-limit-events.ts';
import { createStoreEvents, type StoreEvents } from './store/store-events.ts';
import { createTracingEvents, type TracingEvents } from './tracing/tracing-events.ts';

export interface Telemetry {
  readonly registry: Registry;
  readonly decisions: DecisionEvents;
  readonly proxies: ProxyEvents;
  readonly proxyFaults: ProxyFaults;
  readonly store: StoreEvents;
  readonly peers: PeerEvents;
  readonly operators: OperatorEvents;
  readonly policyFile: PolicyFileEvents;
  readonly rateLimits: RateLimitEvents;
  readonly workers: WorkerEvents;
  readonly log: LogEvents;
  readonly lifecycle: LifecycleEvents;
  readonly tracing: TracingEvents;
  /** Must be sampled once a step. */
  readonly traffic: TrafficHistory;
  /** What `logging` leaves out is as it was at the start. */
  setLogging(logging: Logging): void;
  /** Prints text for people between the log lines. */
  print(text: string): void;
  /** Waits until the log is written, but not for long. */
  close(): Promise<void>;
}

export interface Logging {
  readonly level?: string | undefined;
  /** One in so many allowed requests is logged; none if undefined. */
  readonly allowsOneIn?: number | undefined;
}

export interface TelemetryOptions extends LogOptions {
  readonly version: string;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
}

export function createTelemetry(options: TelemetryOptions): Telemetry {
  const { now, level, version } = options;
  const metrics = createMetrics();
  const { write, print, setLevel, flush } = createLog(options, {
    onLost: (lines) => log.lost(lines),
    report: (lines, why) => log.restored(lines, why),
  });
  const context: TelemetryContext = { write, metrics, now, ...createRepeatFilter(now) };
  const log = createLogEvents(context);
  metrics.process.build.set({ version, node: process.version }, 1);
  const { decisions, sampleAllows } = createDecisionEvents(context);
  return {
    registry: metrics.registry,
    decisions,
    ...createProxyEvents(context),
    store: createStoreEvents(context),
    peers: createPeerEvents(context),
    operators: createOperatorEvents(context),
    policyFile: createPolicyFileEvents(context),
    rateLimits: createRateLimitEvents(context),
    workers: createWorkerEvents(context),
    log,
    lifecycle: createLifecycleEvents(context),
    tracing: createTracingEvents(context),
    traffic: new TrafficHistory(() => metrics.decisions.tally.totals(), now()),
    setLogging(logging) {
      setLevel(logging.level ?? level);
      sampleAllows(logging.allowsOneIn ?? 0);
    },
    print,
    close: flush,
  };
}
