/** Stores on a clock of the test's own, for the contract. */
import { randomUUID } from 'node:crypto';
import { parseRedisUrl, type RedisTarget } from '../../src/gateway/config/settings/redis-url.ts';
import { MemoryStore } from '../../src/gateway/stores/memory/memory-store.ts';
import {
  type Connection,
  createRedisClient,
  type RedisClient,
} from '../../src/gateway/stores/redis/client.ts';
import { ClusterStore } from '../../src/gateway/stores/redis/cluster-store.ts';
import {
  type CountingConnection,
  callRedis,
  overIoredis,
} from '../../src/gateway/stores/redis/counting-connection.ts';
import { createInFlight, RedisStore } from '../../src/gateway/stores/redis/redis-store.ts';
import { openCountingConnection } from '../../src/gateway/stores/redis/resp/resp-client.ts';
import type { StoreUnderTest } from '../contract/quota-store.contract.ts';
import { NOON_MS } from './requests.ts';

export function openMemoryStore({ maxKeys = 100 } = {}): StoreUnderTest & {
  readonly store: MemoryStore;
} {
  const clock = { nowMs: NOON_MS };
  const store = new MemoryStore({ now: () => clock.nowMs, maxKeys });
  return { store, clock, key: (name = 'a') => name };
}

export async function connectClient(url: string): Promise<RedisClient> {
  const target = parseRedisUrl(url);
  const client = createRedisClient({ target, deadlineMs: 5_000, onError: () => {} });
  await new Promise((resolve) => client.once('ready', resolve));
  return client;
}

export interface Connected {
  readonly client: RedisClient;
  readonly connection: CountingConnection;
  disconnect(): void;
}

/** How takes reach a single server: as gateways send them, and as they do in a cluster or with sentinels. */
export const WAYS = ['a connection of our own', 'ioredis'] as const;
export type Way = (typeof WAYS)[number];

type RedisTlsFiles = NonNullable<RedisTarget['tlsFiles']>;

export interface ConnectOptions {
  readonly way?: Way;
  readonly deadlineMs?: number;
  /** Gets what a gateway reports of the connection over which takes go. */
  readonly onError?: (error: Error) => void;
  readonly tlsFiles?: RedisTlsFiles;
}

/** Opens the connections without waiting for them. */
export function openConnections(url: string, options: ConnectOptions = {}): Connected {
  const { way = WAYS[0], deadlineMs = 5_000, onError = () => {}, tlsFiles } = options;
  const target = { ...parseRedisUrl(url), ...(tlsFiles && { tlsFiles }) };
  const isOwn = way !== 'ioredis';
  const client = createRedisClient({ target, deadlineMs, onError: isOwn ? () => {} : onError });
  const connection = isOwn
    ? openCountingConnection({ target, client, deadlineMs, onError })
    : overIoredis(client);
  return {
    ...{ client, connection },
    disconnect() {
      connection.disconnect();
      client.disconnect();
    },
  };
}

export async function connectStore(url: string, options: ConnectOptions = {}): Promise<Connected> {
  const connected = openConnections(url, options);
  await Promise.all([connected.client, connected.connection].map(untilConnected));
  return connected;
}

async function untilConnected(connection: Connection): Promise<void> {
  if (connection.status === 'ready') return;
  await new Promise<void>((resolve) => connection.once('ready', resolve));
}

const PASS_TIME = `
for _, key in ipairs(KEYS) do
  local left_ms = redis.call('PTTL', key) - ARGV[1]
  if left_ms > 0 then redis.call('PEXPIRE', key, left_ms) else redis.call('DEL', key) end
end`;

/**
 * The keys expire by the clock of the test, which should move in steps that are long against the test's duration. The
 * client may send any command.
 */
export function openExpiringStore({ client, connection }: Connected): StoreUnderTest {
  const { store, clock, key } = openRedisStore(client, connection);
  const keys = new Set<string>();
  const moving = {
    get nowMs() {
      return clock.nowMs;
    },
    set nowMs(ms) {
      // What is sent after this sees keys without those that expired.
      const words = [PASS_TIME, keys.size, ...keys, ms - clock.nowMs];
      if (keys.size > 0) void callRedis(connection, 'eval', ...words);
      clock.nowMs = ms;
    },
  };
  const known = (name?: string) => {
    const made = key(name);
    keys.add(made).add(`${made}:calls`);
    return made;
  };
  return { store, clock: moving, key: known };
}

/** The keys of one store share a partition, so that in a cluster they share a slot. */
export function openRedisStore(
  client: RedisClient,
  connection: CountingConnection = overIoredis(client),
): StoreUnderTest {
  const clock = { nowMs: NOON_MS };
  const options = {
    connection,
    inFlight: createInFlight(5_000),
    deadlineMs: 5_000,
    now: () => clock.nowMs,
    ownNow: () => clock.nowMs,
  };
  const store = client.isCluster ? new ClusterStore(options) : new RedisStore(options);
  const partition = randomUUID();
  return { store, clock, key: (name = 'a') => `hg:v1:{${partition}}:${name}` };
}
