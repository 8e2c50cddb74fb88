/** Puts together what operators see of one process: its traffic, its store, its policy file, its last actions. */
import { hostname } from 'node:os';
import type { PolicySource } from '../config/policy-file/policy-source.ts';
import type { Environment } from '../config/settings/environment.ts';
import type { GatewayStatus, RecentActions } from '../operations/running-gateway.ts';
import { STEP_MS, type TrafficHistory } from '../telemetry/decisions/traffic-history.ts';
import type { Telemetry } from '../telemetry/telemetry.ts';
import type { Backend } from './backend.ts';
import type { StoreMonitor } from './store-monitor.ts';

export interface StatusParts {
  readonly environment: Environment;
  readonly policies: PolicySource;
  readonly telemetry: Pick<Telemetry, 'traffic' | 'proxyFaults'>;
  readonly monitor: StoreMonitor;
  readonly backend: Backend;
  readonly actions: RecentActions;
}

export function gatewayStatus(parts: StatusParts): GatewayStatus {
  const { environment, policies, telemetry, monitor, backend, actions } = parts;
  return {
    isWorker: environment.worker !== undefined,
    host: hostname(),
    traffic: telemetry.traffic,
    actions,
    storeKind: environment.redis === undefined ? 'memory' : 'redis',
    store: monitor.condition,
    storeVersion: backend.version,
    policyFile: policies,
    proxyFaults: telemetry.proxyFaults,
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
