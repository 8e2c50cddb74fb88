/** Settles requests in the store that counts them, and notices policies whose outcomes nobody reports. */

import type { Gateway } from '../operations/running-gateway.ts';
import { unsettledPolicies } from '../operations/unsettled.ts';
import { createSettling } from '../settlement/settling.ts';
import { derivedKeys, listedKeys } from '../settlement/signing-keys.ts';
import type { Telemetry } from '../telemetry/telemetry.ts';
import type { GatewayOptions } from './gateway-options.ts';
import type { SharedState } from './shared-state.ts';

/** What waits for the store gets so much longer than one round trip when the gateway ends. */
const LAST_TRY_MS = 500;

export interface SettlementsOptions extends GatewayOptions {
  readonly shared: Pick<SharedState, 'backend' | 'local' | 'salts'>;
}

export function openSettling(options: SettlementsOptions) {
  const { environment, policies, telemetry, now, resources, shared } = options;
  const { settleKeys, settleWithinMs, storeTimeoutMs } = environment;
  const keys =
    settleKeys.length > 0
      ? listedKeys(settleKeys)
      : derivedKeys(() => shared.salts.at(now(), false).kept);
  return resources.addClosable(
    createSettling({
      store: shared.backend.store,
      local: environment.redis === undefined ? undefined : shared.local,
      ...{ policies, keys, now },
      lifeMs: settleWithinMs,
      events: telemetry.settlements,
      closeWithinMs: storeTimeoutMs + LAST_TRY_MS,
    }),
  );
}

const LOOK_EVERY_MS = 30_000;

/** The function that this returns lists the policies of which no gateway got an outcome for too long. */
export function watchUnsettled(
  gateway: Gateway,
  events: Pick<Telemetry['settlements'], 'unsettled'>,
  resources: GatewayOptions['resources'],
): () => readonly string[] {
  let unsettled: readonly string[] = [];
  const look = async () => {
    unsettled = await unsettledPolicies(gateway);
    events.unsettled(unsettled);
  };
  resources.add(setInterval(() => void look(), LOOK_EVERY_MS).unref(), clearInterval);
  return () => unsettled;
}
