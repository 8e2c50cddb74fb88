/** The composition root: configuration in, something that listens and closes out. */
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Environment } from './config/environment.ts';
import type { PolicySource } from './config/policy-source.ts';
import { canonicalAddress, isLoopback } from './core/address.ts';
import { createCheck } from './core/check.ts';
import type { RedisTarget } from './core/redis-target.ts';
import type { QuotaStore } from './core/store.ts';
import { caddy } from './dialects/caddy.ts';
import { envoy } from './dialects/envoy.ts';
import { nginx } from './dialects/nginx.ts';
import { createCheckServer } from './server/check-server.ts';
import { createOpsServer } from './server/ops-server.ts';
import { listenOnPort, type OtherSockets } from './server/tcp-port.ts';
import { listenOnSocket } from './server/unix-socket.ts';
import { Breaker } from './stores/breaker.ts';
import { DenialCache } from './stores/denial-cache.ts';
import { DerivedSalts } from './stores/derived-salts.ts';
import { LocalShare, type Place } from './stores/local-share.ts';
import { MemoryStore } from './stores/memory/memory-store.ts';
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
import { SaltKeeper } from './stores/salt-keeper.ts';
import { SaltShelf } from './stores/salt-shelf.ts';
import type { Telemetry } from './telemetry.ts';

const DIALECTS = [envoy, nginx, caddy];
/** How long a start waits for Redis. It goes on without: Redis may come later. */
const FIRST_CONTACT_MS = 500;
const MAX_IN_FLIGHT = 5_000;
/** What is under way is answered within the deadline; a caller that has not finished its question by then is cut off. */
const LAST_ANSWERS_MS = 1_000;

export interface AppOptions {
  readonly environment: Environment;
  readonly policies: PolicySource;
  readonly telemetry: Telemetry;
  /** Whether somebody else answers operators: this is one of several workers. */
  readonly isWorker: boolean;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
}

export interface Listening {
  /** Or the path of a unix socket. */
  readonly check: AddressInfo | string;
  readonly ops: AddressInfo | undefined;
}

export interface App {
  listen(): Promise<Listening>;
  /**
   * Goes on answering for so many milliseconds, not ready any more: time for whoever asks to notice. Each connection is
   * closed with its next answer.
   */
  drain(durationMs: number): Promise<void>;
  /** Answers what is under way, then lets go of everything. */
  close(): Promise<void>;
}

export function createApp(options: AppOptions): App {
  const { environment, policies, telemetry, isWorker, now } = options;
  const memory = new MemoryStore({ now, maxKeys: environment.memoryMaxKeys });
  const backend = environment.redis
    ? inRedis(environment.redis, environment, telemetry)
    : inMemory(memory);
  const { store } = backend;
  const { ipSaltSecret } = environment;
  const salts = ipSaltSecret === undefined ? backend.salts : new DerivedSalts(ipSaltSecret);
  const check = createCheck({
    store,
    local: new LocalShare(memory, backend.place),
    salts,
    onUntrustedProxy: telemetry.untrustedProxy,
    onIgnoredHeaders: telemetry.headersIgnored,
  });
  const checkServer = createCheckServer({
    dialects: DIALECTS,
    check,
    policies,
    now,
    callerWithoutAddress: environment.socket === undefined ? '' : '127.0.0.1',
    proxySecrets: environment.proxySecrets,
    isLeaving: () => isLeaving,
    onStranger: telemetry.strangerRefused,
    onDecided: telemetry.decided,
    onMisconfigured: telemetry.proxyMisconfigured,
    onFault: telemetry.checkFailed,
  });
  const { registry } = telemetry;
  const opsServer = createOpsServer({
    metrics: () => registry.metrics(),
    contentType: registry.contentType,
    health: () => ({ ready, degraded: telemetry.isDegraded() }),
  });
  const saltKeeper = new SaltKeeper({
    refresh: () => salts.refresh(now()),
    onFailure: telemetry.saltsNotShared,
  });
  let ready = false;
  let isLeaving = false;
  let otherSockets: OtherSockets | undefined;

  return {
    async listen() {
      await backend.connect(() => saltKeeper.share());
      // Also without a contact: what is over is forgotten all the same.
      void saltKeeper.share();
      if (!isWorker) {
        await opsServer.listen({ host: environment.opsHost, port: environment.opsPort });
      }
      const { host, port, socket } = environment;
      if (socket !== undefined) await listenOnSocket(checkServer, socket);
      // The supervisor of workers accepts for them.
      else if (isWorker) await checkServer.listen({ host, port });
      else otherSockets = await listenOnPort(checkServer, { host, port });
      ready = true;
      const check = checkServer.server.address() as Listening['check'];
      if (
        typeof check !== 'string' &&
        !isPrivateToUs(check) &&
        environment.proxySecrets.length === 0
      )
        telemetry.checkPortOpen();
      return { check, ops: (opsServer.server.address() as AddressInfo | null) ?? undefined };
    },
    async drain(durationMs) {
      ready = false;
      isLeaving = true;
      await sleep(durationMs);
    },
    async close() {
      ready = false;
      isLeaving = true;
      saltKeeper.close();
      const cutOff = setTimeout(() => checkServer.server.closeAllConnections(), LAST_ANSWERS_MS);
      await Promise.all([checkServer.close(), otherSockets?.close()]);
      clearTimeout(cutOff);
      await opsServer.close();
      await backend.close();
    },
  };
}

/** What counts, and what it takes to do so. */
interface Backend {
  readonly store: QuotaStore;
  readonly salts: SaltShelf | DerivedSalts;
  /** Among the gateways that count together. */
  place(): Place;
  /** Resolves when the first contact was made or is not worth waiting for; calls back at every contact. */
  connect(onContact: () => Promise<void>): Promise<void>;
  close(): Promise<void>;
}

function inMemory(store: MemoryStore): Backend {
  return {
    store,
    salts: new SaltShelf(),
    place: () => ({ count: 1, rank: 0 }),
    connect: (onContact) => onContact(),
    close: async () => {},
  };
}

function inRedis(target: RedisTarget, environment: Environment, telemetry: Telemetry): Backend {
  const connection = {
    target,
    deadlineMs: environment.storeTimeoutMs,
    onError: telemetry.storeConnectionFailed,
  };
  const client = createRedisClient(connection);
  const options: RedisStoreOptions = {
    client,
    inFlight: new InFlight(MAX_IN_FLIGHT),
    deadlineMs: environment.storeTimeoutMs,
    onBatch: telemetry.storeAnswered,
    onError: telemetry.storeFailed,
  };
  const guarded = new Breaker({
    store: target.kind === 'cluster' ? new ClusterStore(options) : new RedisStore(options),
    probe: () => withDeadline(isAnswering(client), environment.storeTimeoutMs),
    onSilence: () => client.disconnect(true),
    onOpen: telemetry.storeGivenUp,
    onStillOpen: (error) => telemetry.storeFailed(storeErrorFrom(error).reason, error),
    onClose: telemetry.storeConnected,
  });
  const counting = new Overload({
    store: guarded,
    now: () => performance.now(),
    // Later than that, and the answer may not be read before its deadline.
    limitMs: environment.storeTimeoutMs / 2,
    onShed: telemetry.requestShed,
  });
  const replicas = new Replicas({
    client,
    assumed: environment.replicas * environment.workers,
    now: () => performance.now(),
  });
  const beat = () =>
    void withDeadline(replicas.beat(), environment.storeTimeoutMs).catch((error) => {
      replicas.lostTouch();
      telemetry.heartbeatLost(error);
    });
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
      counting.close();
      guarded.close();
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

function isPrivateToUs({ address }: AddressInfo): boolean {
  return isLoopback(canonicalAddress(address) ?? '');
}
