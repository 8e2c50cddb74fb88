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

const PASS_TIME = `
for _, key in ipairs(KEYS) do
  local left_ms = redis.call('PTTL', key) - ARGV[1]
  if left_ms > 0 then redis.call('PEXPIRE', key, left_ms) else redis.call('DEL', key) end
end`;

/**
 * The keys expire by the clock of the test, which should move in steps that are long against the test's duration. The
 * client may send any command.
 */
export function openExpiringStore(client: RedisClient): StoreUnderTest {
  const { store, clock, key } = openRedisStore(client);
  const keys = new Set<string>();
  const moving = {
    get nowMs() {
      return clock.nowMs;
    },
    set nowMs(ms) {
      // What is sent after this sees keys without those that expired.
      if (keys.size > 0) client.eval(PASS_TIME, keys.size, ...keys, ms - clock.nowMs);
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
