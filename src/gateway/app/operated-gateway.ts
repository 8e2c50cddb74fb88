/** The parts of a running gateway that operations use, and what operators see of its process. */
import { hostname } from 'node:os';
import type { PolicySource } from '../config/policy-file/policy-source.ts';
import type { Environment } from '../config/settings/environment.ts';
import type { Denials } from '../denials/denials.ts';
import { type Gateway, RecentActions } from '../operations/running-gateway.ts';
import { STEP_MS, type TrafficHistory } from '../telemetry/decisions/traffic-history.ts';
import type { Telemetry } from '../telemetry/telemetry.ts';
import type { RateLimits } from './ratelimit/rate-limits.ts';
import { visiblePolicies } from './ratelimit/visible-policies.ts';
import type { SharedState } from './shared-state.ts';
import type { StoreMonitor } from './store-monitor.ts';

export interface OperatedOptions {
  readonly environment: Environment;
  readonly policies: PolicySource;
  readonly telemetry: Telemetry;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  readonly monitor: StoreMonitor;
  readonly shared: SharedState;
  readonly denials: Denials;
  readonly rateLimits: RateLimits | undefined;
  readonly unseenHeaders: Gateway['unseenHeaders'];
}

export function operatedGateway(options: OperatedOptions): Gateway {
  const { environment, policies, telemetry, now, denials, rateLimits, unseenHeaders } = options;
  const { backend, local, salts, overrides } = options.shared;
  const actions = new RecentActions(now);
  return {
    policies: visiblePolicies(policies, () => rateLimits?.policies() ?? []),
    salts,
    overrides,
    unseenHeaders,
    now,
    store: backend.store,
    reader: backend.reader,
    peekLocally: (descriptors) => local.peek(descriptors),
    denied: denials.enforced.clients,
    wouldBeDenied: denials.shadow.clients,
    forgetDenied: (keys) => denials.reset(keys),
    queryAll: backend.queryAll,
    stats: backend.stats,
    knownGateways: () => backend.place().count,
    audit(action, isConfirmed) {
      actions.add(action, isConfirmed);
      telemetry.operators.acted(action);
    },
    status: {
      isWorker: environment.worker !== undefined,
      host: hostname(),
      traffic: telemetry.traffic,
      actions,
      storeKind: environment.redis === undefined ? 'memory' : 'redis',
      store: options.monitor.condition,
      storeVersion: backend.version,
      policyFile: policies,
      proxyFaults: telemetry.proxyFaults,
    },
  };
}

/** Samples at the end of each step, until the function that this returns is called. */
export function sampleTraffic(traffic: TrafficHistory, now: () => number): () => void {
  let timer: NodeJS.Timeout;
  const waitForStep = () => {
    timer = setTimeout(
      () => {
        traffic.sample(now());
        waitForStep();
      },
      STEP_MS - (now() % STEP_MS),
    ).unref();
  };
  waitForStep();
  return () => clearTimeout(timer);
}
