import { hostname } from 'node:os';
import type { KeyDirectory } from '../core/identity/key-directory.ts';
import type { ListedClients } from '../core/identity/listed-clients.ts';
import type { PolicySet } from '../core/matching/policy-set.ts';
import type { Policy } from '../core/policy.ts';
import type { Denials } from '../denials/denials.ts';
import { createRecentActions, type Gateway } from '../operations/running-gateway.ts';
import { STEP_MS, type TrafficHistory } from '../telemetry/decisions/traffic-history.ts';
import type { GatewayOptions } from './gateway-options.ts';
import type { RateLimits } from './ratelimit/rate-limits.ts';
import type { SharedState } from './shared-state.ts';
import type { StoreMonitor } from './store-monitor.ts';

export interface OperatedOptions extends Omit<GatewayOptions, 'resources'> {
  readonly monitor: StoreMonitor;
  readonly shared: SharedState;
  readonly denials: Denials;
  readonly rateLimits: RateLimits | undefined;
  readonly unseenHeaders: Gateway['unseenHeaders'];
}

export function operatedGateway(options: OperatedOptions): Gateway {
  const { environment, policies, telemetry, now, denials, rateLimits, unseenHeaders } = options;
  const { backend, local, salts, overrides, keys } = options.shared;
  const actions = createRecentActions(now);
  return {
    policies: visiblePolicies(policies, keys, () => rateLimits?.policies() ?? []),
    keys,
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
      settlements: {
        heard: (policy, atMs) => telemetry.outcomes.heard(policy, atMs),
        latest: () => telemetry.outcomes.latest(),
        overdue: () => telemetry.outcomes.overdue(now(), environment.settleWithinMs),
      },
    },
  };
}

/** The policies that operators see: those of the policy file, then one for each limit of the rate limit service. */
function visiblePolicies(
  policies: Gateway['policies'],
  keys: KeyDirectory,
  ofRateLimits: () => readonly Policy[],
): Gateway['policies'] {
  let known:
    | { readonly set: PolicySet; readonly added: readonly Policy[]; all: PolicySet }
    | undefined;
  return {
    get current() {
      const set = policies.current;
      const added = ofRateLimits();
      if (known?.set !== set || known.added !== added) {
        known = { set, added, all: withPolicies(withKeys(set, keys), added) };
      }
      return known.all;
    },
  };
}

/** Operators know the clients of keys in the store by their ids, too. Those of the policy file take precedence. */
export function withKeys(set: PolicySet, keys: KeyDirectory): PolicySet {
  if (!set.naming.keysInStore) return set;
  const { listedClients: ofFile } = set;
  const get: ListedClients['get'] = (partition) => {
    const listed = ofFile.get(partition);
    if (listed !== undefined) return listed;
    const stored = keys.clientOf(partition);
    return stored && { id: stored.id, plan: stored.plan, stored };
  };
  return { ...set, listedClients: { get, hasPlan: set.hasPlan } };
}

function withPolicies(set: PolicySet, added: readonly Policy[]): PolicySet {
  if (added.length === 0) return set;
  const names = new Set(added.map(({ name }) => name));
  return {
    ...set,
    policies: [...set.policies, ...added],
    has: (name) => set.has(name) || names.has(name),
  };
}

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
