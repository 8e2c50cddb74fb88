/** The state that a gateway shares with other gateways: counters, salts and overrides, each kept up to date. */
import type { PolicySource } from '../config/policy-file/policy-source.ts';
import { localShare } from '../stores/local-share.ts';
import { MemoryStore } from '../stores/memory/memory-store.ts';
import { loggingIn, overrideEffects } from '../stores/overrides/override.ts';
import { OverrideBook } from '../stores/overrides/override-book.ts';
import { DerivedSalts } from '../stores/salts/salt-sources.ts';
import type { Telemetry } from '../telemetry/telemetry.ts';
import type { Backend, BackendEvents, StoreAtStart } from './backend.ts';
import type { GatewayOptions } from './gateway-options.ts';
import { inMemory } from './memory-backend.ts';
import { createSharedKeys } from './shared-keys.ts';
import type { StoreMonitor } from './store-monitor.ts';

/** Redis may lose salts, for example under a flood: gateways write back what they hold. */
const SALTS_EVERY_MS = 10_000;
/** A message announces each change of an override. This is for messages that got lost. */
const OVERRIDES_EVERY_MS = 5_000;
/** As with overrides, for keys. */
const KEYS_EVERY_MS = 5_000;

export interface SharedStateOptions extends Omit<GatewayOptions, 'policies'> {
  readonly policies: Pick<PolicySource, 'current'>;
  readonly monitor: StoreMonitor;
  readonly onReset: BackendEvents['onReset'];
}

export type SharedState = Awaited<ReturnType<typeof createSharedState>>;

export async function createSharedState(options: SharedStateOptions) {
  const { environment, policies, telemetry, monitor, onReset, now, resources } = options;
  let reply: BackendEvents['replyTo'] = async () => undefined;
  let settleLater: BackendEvents['onUnsettled'] = () => {};
  const memory = new MemoryStore({ now, maxKeys: environment.memoryMaxKeys });
  const events: BackendEvents = {
    onReset(keys) {
      // The message does not say which of them are settled later. What this gateway has not counted needs no mark.
      void memory.reset(
        keys,
        keys.filter((key) => memory.has(key)),
      );
      onReset(keys);
    },
    // A refresh that is under way may have read too early, so this does not wait for the refresher.
    onOverridesChanged: () => void overrides.refresh().catch(() => overrideRefresher.refresh()),
    onKeysChanged: () => void shared.refresh().catch(() => keyRefresher.refresh()),
    onUnsettled: (settlement) => settleLater(settlement),
    replyTo: (query) => reply(query),
  };
  const backend = await createBackend(memory, events, options);
  const overrides = resources.addClosable(createOverrides(backend, telemetry, now));
  const shared = createSharedKeys({
    ...{ keyStore: backend.keyStore, policies, deadlineMs: environment.storeTimeoutMs },
    events: telemetry.keys,
  });
  const { ipSaltSecret } = environment;
  const salts = ipSaltSecret === undefined ? backend.salts : new DerivedSalts(ipSaltSecret);
  const refresher = (how: RefresherOptions) => resources.addClosable(createRefresher(how));
  const saltRefresher = refresher({
    refresh: () => salts.refresh(now()),
    everyMs: SALTS_EVERY_MS,
    onFailure: telemetry.peers.saltsNotShared,
  });
  const overrideRefresher = refresher({
    refresh: () => overrides.refresh(),
    everyMs: OVERRIDES_EVERY_MS,
    onFailure: monitor.overridesUnread,
  });
  const keyRefresher = refresher({
    refresh: () => shared.refresh().then(telemetry.keys.changesRead),
    everyMs: KEYS_EVERY_MS,
    onFailure: (error) => telemetry.keys.changesUnread(error, monitor.isDegraded()),
  });
  return {
    backend,
    keys: shared.keys,
    local: localShare(memory, backend.place),
    salts,
    overrides,
    /** Replies to queries of other gateways from now on. */
    replyWith(given: typeof reply): void {
      reply = given;
    },
    /** Settles what the store could not give back from now on. */
    settleLaterWith(given: typeof settleLater): void {
      settleLater = given;
    },
    /** Resolves once the store counts, or when the start should not wait any longer. */
    async connect(): Promise<StoreAtStart> {
      const found = await backend.connect(async () => {
        // A gateway that starts knows no key that may have changed.
        void keyRefresher.refresh();
        await Promise.all([saltRefresher.refresh(), overrideRefresher.refresh()]);
      });
      // Also if there was no contact: salts and overrides must expire all the same.
      void saltRefresher.refresh();
      void overrideRefresher.refresh();
      void keyRefresher.refresh();
      return found;
    },
  };
}

async function createBackend(
  memory: MemoryStore,
  events: BackendEvents,
  { environment, telemetry, monitor, now, resources }: SharedStateOptions,
): Promise<Backend> {
  const { redis: target } = environment;
  if (target === undefined)
    return inMemory({ memory, events, telemetry: telemetry.store, now, resources });
  // Loaded only if needed: the client of Redis adds 4 MiB and a tenth to the time of a start.
  const { inRedis } = await import('./redis/redis-backend.ts');
  const shared = { target, environment, events, monitor, telemetry, now, resources };
  return inRedis(shared);
}

function createOverrides(
  { overrideStore }: Backend,
  telemetry: Telemetry,
  now: () => number,
): OverrideBook {
  return new OverrideBook({
    overrideStore,
    now,
    onChange(inForce) {
      telemetry.operators.overridesInForce(overrideEffects(inForce));
      telemetry.setLogging(loggingIn(inForce));
    },
    onRestored: telemetry.operators.overridesRestored,
  });
}

export interface RefresherOptions {
  readonly refresh: () => Promise<void>;
  readonly everyMs: number;
  readonly onFailure: (error: Error) => void;
}

/** The nodes of a cluster connect one after the other, so the first tries may come too early. */
const RETRY_MS = 100;

/** Reads something that all gateways share at once and at intervals, and retries quickly until that succeeds. */
export function createRefresher({ refresh, everyMs, onFailure }: RefresherOptions) {
  let refreshing: Promise<void> | undefined;
  let timer: NodeJS.Timeout | undefined;
  let isClosed = false;
  let retryNow = () => {};
  const tryUntilDone = async (): Promise<void> => {
    while (!isClosed) {
      try {
        await refresh();
        return;
      } catch (error) {
        onFailure(error as Error);
      }
      const { promise, resolve } = Promise.withResolvers<void>();
      const retry = setTimeout(resolve, RETRY_MS);
      retryNow = resolve;
      await promise;
      clearTimeout(retry);
    }
  };
  const refresher = {
    /** Resolves once that has succeeded, or this is closed. */
    refresh(): Promise<void> {
      timer ??= setInterval(() => void refresher.refresh(), everyMs);
      refreshing ??= tryUntilDone().finally(() => {
        refreshing = undefined;
      });
      retryNow();
      return refreshing;
    },
    close(): void {
      clearInterval(timer);
      isClosed = true;
      retryNow();
    },
  };
  return refresher;
}
