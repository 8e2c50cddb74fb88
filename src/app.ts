/** The composition root: configuration in, something that listens and closes out. */
import type { AddressInfo } from 'node:net';
import type { FastifyInstance } from 'fastify';
import type { Environment } from './config/environment.ts';
import type { PolicySource } from './config/policy-source.ts';
import { createCheck } from './core/check.ts';
import type { QuotaStore } from './core/store.ts';
import { envoy } from './dialects/envoy.ts';
import { nginx } from './dialects/nginx.ts';
import { createCheckServer } from './server/check-server.ts';
import { createOpsServer } from './server/ops-server.ts';
import { MemoryStore } from './stores/memory/memory-store.ts';
import { createRedisClient } from './stores/redis/client.ts';
import { RedisSaltVault } from './stores/redis/redis-salts.ts';
import { RedisStore } from './stores/redis/redis-store.ts';
import { SaltBook } from './stores/salt-book.ts';
import type { Telemetry } from './telemetry.ts';

const DIALECTS = [envoy, nginx];
const SALT_REFRESH_MS = 60_000;
/** How long a start waits for Redis. It goes on without: Redis may come later. */
const FIRST_CONTACT_MS = 500;

export interface AppOptions {
  readonly environment: Environment;
  readonly policies: PolicySource;
  readonly telemetry: Telemetry;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
}

export interface Listening {
  readonly check: AddressInfo;
  readonly ops: AddressInfo;
}

export interface App {
  listen(): Promise<Listening>;
  /** Answers what is under way, then lets go of everything. */
  close(): Promise<void>;
}

export function createApp({ environment, policies, telemetry, now }: AppOptions): App {
  const local = new MemoryStore({ now, maxKeys: environment.memoryMaxKeys });
  const backend = environment.redisUrl
    ? inRedis(environment.redisUrl, environment, telemetry)
    : inMemory(local);
  const { store, salts } = backend;
  const check = createCheck({
    store,
    local,
    salts,
    onUntrustedProxy: telemetry.untrustedProxy,
  });
  const checkServer = createCheckServer({
    dialects: DIALECTS,
    check,
    policies,
    now,
    onDecided: telemetry.decided,
    onMisconfigured: telemetry.proxyMisconfigured,
    onFault: telemetry.checkFailed,
  });
  const opsServer = createOpsServer({
    registry: telemetry.registry,
    health: () => ({ ready, degraded: telemetry.isDegraded() }),
  });
  const refreshSalts = () => salts.refresh(now()).catch(telemetry.saltsNotShared);
  let saltTimer: NodeJS.Timeout | undefined;
  let ready = false;

  return {
    async listen() {
      await backend.connect(refreshSalts);
      saltTimer = setInterval(refreshSalts, SALT_REFRESH_MS);
      await opsServer.listen({ host: environment.opsHost, port: environment.opsPort });
      await checkServer.listen({ host: environment.host, port: environment.port });
      ready = true;
      return { check: addressOf(checkServer), ops: addressOf(opsServer) };
    },
    async close() {
      ready = false;
      clearInterval(saltTimer);
      await checkServer.close();
      await opsServer.close();
      await backend.close();
    },
  };
}

/** What counts, and what it takes to do so. */
interface Backend {
  readonly store: QuotaStore;
  readonly salts: SaltBook;
  /** Resolves when the first contact was made or is not worth waiting for; calls back at every contact. */
  connect(onContact: () => Promise<void>): Promise<void>;
  close(): Promise<void>;
}

function inMemory(store: MemoryStore): Backend {
  return {
    store,
    salts: new SaltBook(),
    connect: (onContact) => onContact(),
    close: async () => {},
  };
}

function inRedis(url: string, environment: Environment, telemetry: Telemetry): Backend {
  const client = createRedisClient(url, telemetry.storeConnectionFailed);
  const store = new RedisStore({
    client,
    deadlineMs: environment.storeTimeoutMs,
    onBatch: telemetry.storeAnswered,
    onError: telemetry.storeFailed,
  });
  return {
    store,
    salts: new SaltBook(new RedisSaltVault(client)),
    connect: (onContact) =>
      new Promise((resolve) => {
        const patience = setTimeout(resolve, FIRST_CONTACT_MS);
        client.on('ready', async () => {
          telemetry.storeConnected();
          await onContact();
          clearTimeout(patience);
          resolve();
        });
      }),
    close: async () => client.disconnect(),
  };
}

function addressOf(server: FastifyInstance): AddressInfo {
  return server.server.address() as AddressInfo;
}
