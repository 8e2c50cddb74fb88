/** Stores on a clock of the test's own, for the contract. */
import { randomUUID } from 'node:crypto';
import { parseRedisUrl } from '../../src/gateway/config/settings/redis-url.ts';
import { MemoryStore } from '../../src/gateway/stores/memory/memory-store.ts';
import { createRedisClient, type RedisClient } from '../../src/gateway/stores/redis/client.ts';
import { ClusterStore } from '../../src/gateway/stores/redis/cluster-store.ts';
import {
  type CountingConnection,
  openCountingConnection,
  overIoredis,
} from '../../src/gateway/stores/redis/counting-connection.ts';
import { createInFlight, RedisStore } from '../../src/gateway/stores/redis/redis-store.ts';
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

export async function connectStore(
  url: string,
  { way = WAYS[0] as Way, deadlineMs = 5_000 } = {},
): Promise<Connected> {
  const target = parseRedisUrl(url);
  const onError = () => {};
  const client = createRedisClient({ target, deadlineMs, onError });
  const connection =
    way === 'ioredis'
      ? overIoredis(client)
      : openCountingConnection({ target, client, deadlineMs, onError });
  await Promise.all([client, connection].map((each) => once(each, 'ready')));
  return {
    ...{ client, connection },
    disconnect() {
      connection.disconnect();
      client.disconnect();
    },
  };
}

function once(connection: Pick<CountingConnection, 'once'>, event: 'ready'): Promise<void> {
  return new Promise((resolve) => connection.once(event, resolve));
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
      if (keys.size > 0) void connection.eval(PASS_TIME, keys.size, ...keys, ms - clock.nowMs);
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
