import type { StoreStats } from '../../operations/running-gateway.ts';
import type { RedisClient } from '../../stores/redis/client.ts';
import { storeErrorFrom, withDeadline } from '../../stores/redis/failures.ts';
import {
  describeServers,
  type ServerState,
  sampleKeyspace,
} from '../../stores/redis/server-state.ts';
import type { Telemetry } from '../../telemetry/telemetry.ts';

const SAMPLE_MS = 10_000;
/** Operators may wait longer than requests. */
const WITHIN_MS = 2_000;

/** Reads something from Redis at intervals, and reports it. */
function sampling<T>(read: () => Promise<T>, report: (sampled: T) => void) {
  /** Never rejects. If Redis is down, that is reported elsewhere; what the account may not read is not known. */
  const sample = async (): Promise<void> => {
    try {
      report(await withDeadline(read(), WITHIN_MS));
    } catch {}
  };
  const timer = setInterval(() => void sample(), SAMPLE_MS).unref();
  return { sample, close: () => clearInterval(timer) };
}

export function windowSampling(client: RedisClient, onCounted: (activeWindows: number) => void) {
  return sampling(
    () => sampleKeyspace(client, false),
    ({ activeWindows }) => onCounted(activeWindows),
  );
}

/** Rejects with a StoreError. */
export async function redisStats(client: RedisClient): Promise<StoreStats> {
  try {
    const sampled = Promise.all([sampleKeyspace(client, true), describeServers(client)]);
    const [keyspace, servers] = await withDeadline(sampled, WITHIN_MS);
    return { store: 'redis', keyspace, servers };
  } catch (cause) {
    throw storeErrorFrom(cause);
  }
}

/** A server is replaced rarely, and every open page shows its version. */
const VERSION_FOR_MS = 60_000;
const VERSION_WITHIN_MS = 500;

/** Reads the versions of the servers at most once a minute. Undefined while they do not answer. */
export function redisVersion(client: RedisClient, now: () => number) {
  let known: { readonly text: string; readonly readMs: number } | undefined;
  return async (): Promise<string | undefined> => {
    if (known !== undefined && now() - known.readMs < VERSION_FOR_MS) return known.text;
    try {
      const servers = await withDeadline(describeServers(client), VERSION_WITHIN_MS);
      const text = [...new Set(servers.map(({ version }) => version))].join(', ');
      known = { text, readMs: now() };
      return text;
    } catch {
      return undefined;
    }
  };
}

/** `used_memory` passes `maxmemory` a little before the server refuses to write. */
const NEARLY_FULL = 0.9;

type MemoryEvents = Pick<Telemetry['store'], 'memoryUsed' | 'keysEvicted' | 'memoryNearlyFull'>;

/**
 * Watches the memory of Redis. A server that evicts keys gives clients new limits, and a full one counts nothing: a flood of
 * invented addresses causes either.
 */
export function watchMemory(client: RedisClient, events: MemoryEvents) {
  let mayEvict = false;
  let evictedBefore: number | undefined;
  const report = (servers: readonly ServerState[]) => {
    mayEvict = servers.some(evictsWhenFull);
    const used = Math.max(0, ...servers.map(usedShare));
    events.memoryUsed(used);
    if (used >= NEARLY_FULL) events.memoryNearlyFull(used, mayEvict);
    const evictedByAll = servers.reduce((sum, server) => sum + server.evictedKeys, 0);
    // A server that was restarted counts from 0.
    const evicted = evictedByAll - (evictedBefore ?? evictedByAll);
    if (evicted > 0) events.keysEvicted(evicted);
    evictedBefore = evictedByAll;
  };
  return { ...sampling(() => describeServers(client), report), mayEvict: () => mayEvict };
}

/** Every key of headgate has a time to live, so the volatile policies evict it too. */
function evictsWhenFull({ maxMemoryBytes, maxMemoryPolicy }: ServerState): boolean {
  return maxMemoryBytes > 0 && maxMemoryPolicy !== 'noeviction' && maxMemoryPolicy !== 'unknown';
}

function usedShare({ usedMemoryBytes, maxMemoryBytes }: ServerState): number {
  return maxMemoryBytes === 0 ? 0 : usedMemoryBytes / maxMemoryBytes;
}
