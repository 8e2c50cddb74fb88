/** The parts of a running gateway that operations use. */

import type { PolicySource } from '../config/policy-file/policy-source.ts';
import type { Environment } from '../config/settings/environment.ts';
import type { Denials } from '../denials/denials.ts';
import { type Gateway, RecentActions } from '../operations/running-gateway.ts';
import type { Telemetry } from '../telemetry/telemetry.ts';
import { gatewayStatus } from './gateway-status.ts';
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
  const { policies, telemetry, now, denials, rateLimits, unseenHeaders } = options;
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
    status: gatewayStatus({ ...options, backend, actions }),
  };
}
