/** What counts, put together: this process's memory, or a Redis with all that keeps it from becoming an outage. */
import type { Environment } from './config/environment.ts';
import type { RedisTarget } from './core/redis-target.ts';
import type { QuotaStore } from './core/store.ts';
import { Breaker } from './stores/breaker.ts';
import { DenialCache } from './stores/denial-cache.ts';
import type { DerivedSalts } from './stores/derived-salts.ts';
import { GuardedStore } from './stores/guarded-store.ts';
import type { Place } from './stores/local-share.ts';
import type { MemoryStore } from './stores/memory/memory-store.ts';
import { Overload } from './stores/overload.ts';
import { createRedisClient, type RedisClient } from './stores/redis/client.ts';
import { ClusterStore } from './stores/redis/cluster-store.ts';
import { withDeadline } from './stores/redis/deadline.ts';
import { storeErrorFrom } from './stores/redis/errors.ts';
import { InFlight } from './stores/redis/in-flight.ts';
import { RedisSaltVault } from './stores/redis/redis-salts.ts';
import { RedisStore, type RedisStoreOptions } from './stores/redis/redis-store.ts';
import { HEARTBEAT_MS, Replicas } from './stores/redis/replicas.ts';
import { listenForResets } from './stores/redis/reset-channel.ts';
import { TAKE_SCRIPT_SHA } from './stores/redis/take-script.ts';
import { SaltShelf } from './stores/salt-shelf.ts';
import type { Telemetry } from './telemetry/telemetry.ts';

/** How long a start waits for Redis. It goes on without: Redis may come later. */
const FIRST_CONTACT_MS = 500;
const MAX_IN_FLIGHT = 5_000;
/** Timers are as late as that by themselves. */
const LEAST_LATENESS_MS = 5;

/** What counts, and what it takes to do so. */
export interface Backend {
  readonly store: QuotaStore;
  readonly salts: SaltShelf | DerivedSalts;
  /** Among the gateways that count together. */
  place(): Place;
  /** Resolves when the first contact was made or is not worth waiting for; calls back at every contact. */
  connect(onContact: () => Promise<void>): Promise<void>;
  close(): Promise<void>;
}

export function inMemory(store: MemoryStore): Backend {
  return {
    store,
    salts: new SaltShelf(),
    place: () => ({ count: 1, rank: 0 }),
    connect: (onContact) => onContact(),
    close: async () => {},
  };
}

export function inRedis(
  target: RedisTarget,
  environment: Environment,
  telemetry: Telemetry,
): Backend {
  const connection = {
    target,
    deadlineMs: environment.storeTimeoutMs,
    onError: telemetry.storeConnectionFailed,
  };
  const client = createRedisClient(connection);
  telemetry.scriptInUse(TAKE_SCRIPT_SHA);
  const breaker = new Breaker({
    probe: () => withDeadline(isAnswering(client), environment.storeTimeoutMs),
    onSilence: () => client.disconnect(true),
    onOpen: telemetry.storeGivenUp,
    onStillOpen: (error) => telemetry.storeFailed(storeErrorFrom(error).reason, error),
    onClose: telemetry.storeConnected,
  });
  const overload = new Overload({
    now: () => performance.now(),
    // Later than that, and the answer may not be read before its deadline.
    limitMs: Math.max(environment.storeTimeoutMs / 2, LEAST_LATENESS_MS),
    onShed: telemetry.requestShed,
  });
  const options: RedisStoreOptions = {
    client,
    inFlight: new InFlight(MAX_IN_FLIGHT),
    deadlineMs: environment.storeTimeoutMs,
    onBatch(durationMs, requests) {
      breaker.succeeded();
      telemetry.storeAnswered(durationMs, requests);
    },
    onError(reason, cause) {
      breaker.failed(reason);
      telemetry.storeFailed(reason, cause);
    },
  };
  const counting = new GuardedStore(
    target.kind === 'cluster' ? new ClusterStore(options) : new RedisStore(options),
    [breaker, overload],
  );
  const replicas = new Replicas({
    client,
    assumed: {
      count: environment.replicas * environment.workers,
      rank: environment.worker ?? 0,
    },
    now: () => performance.now(),
  });
  const beat = () =>
    void withDeadline(replicas.beat(), environment.storeTimeoutMs).then(
      telemetry.heartbeatTaken,
      (error) => {
        replicas.lostTouch();
        telemetry.heartbeatLost(error);
      },
    );
  const heartbeat = setInterval(beat, HEARTBEAT_MS).unref();
  const subscriber =
    environment.rememberedDenials > 0
      ? createRedisClient({ ...connection, onError: telemetry.resetsUnheard })
      : undefined;
  const store = subscriber
    ? rememberDenials(counting, subscriber, environment, telemetry)
    : counting;
  return {
    store,
    salts: new SaltShelf((periodMs) => new RedisSaltVault(client, periodMs)),
    place: () => replicas.place,
    connect: (onContact) =>
      new Promise((resolve) => {
        const patience = setTimeout(resolve, FIRST_CONTACT_MS);
        client.on('ready', async () => {
          telemetry.storeConnected();
          replicas.lostTouch();
          beat();
          await onContact();
          clearTimeout(patience);
          resolve();
        });
      }),
    close: async () => {
      clearInterval(heartbeat);
      overload.close();
      breaker.close();
      client.disconnect();
      subscriber?.disconnect();
    },
  };
}

/** Rejects with what Redis says against it. An account that may not ask has been answered. */
async function isAnswering(client: RedisClient): Promise<void> {
  try {
    await client.ping();
  } catch (error) {
    if (storeErrorFrom(error).reason !== 'noperm') throw error;
  }
}

/** As long as resets can be heard. */
function rememberDenials(
  store: QuotaStore,
  subscriber: RedisClient,
  { rememberedDenials }: Environment,
  telemetry: Telemetry,
): QuotaStore {
  const cache = new DenialCache({
    store,
    now: () => performance.now(),
    maxEntries: rememberedDenials,
    onRemembered: telemetry.denialRemembered,
  });
  listenForResets(subscriber, {
    onListening: () => cache.enable(),
    onReset: () => cache.forget(),
    onDeaf: (reason) => {
      cache.disable();
      if (reason !== undefined) telemetry.resetsUnheard(reason);
    },
  });
  return cache;
}
