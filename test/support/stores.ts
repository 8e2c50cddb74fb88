/** Stores on a clock of the test's own, for the contract. */
import { randomUUID } from 'node:crypto';
import { parseRedisUrl } from '../../src/gateway/config/settings/redis-url.ts';
import { MemoryStore } from '../../src/gateway/stores/memory/memory-store.ts';
import { createRedisClient, type RedisClient } from '../../src/gateway/stores/redis/client.ts';
import { ClusterStore } from '../../src/gateway/stores/redis/cluster-store.ts';
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

/** The keys of one store share a partition, so that in a cluster they share a slot. */
export function openRedisStore(client: RedisClient): StoreUnderTest {
  const clock = { nowMs: NOON_MS };
  const options = {
    client,
    inFlight: createInFlight(5_000),
    deadlineMs: 5_000,
    now: () => clock.nowMs,
    ownNow: () => clock.nowMs,
  };
  const store = client.isCluster ? new ClusterStore(options) : new RedisStore(options);
  const partition = randomUUID();
  return { store, clock, key: (name = 'a') => `hg:v1:{${partition}}:${name}` };
}
