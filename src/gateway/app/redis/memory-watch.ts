/**
 * Watches the memory of Redis. A server that evicts keys gives clients new limits, and a full one counts nothing: a flood of
 * invented addresses causes either.
 */
import type { RedisClient } from '../../stores/redis/client.ts';
import { describeServers, type ServerState } from '../../stores/redis/server-state.ts';
import type { Telemetry } from '../../telemetry/telemetry.ts';
import { Sampling } from './usage.ts';

/** `used_memory` passes `maxmemory` a little before the server refuses to write. */
const NEARLY_FULL = 0.9;

type MemoryEvents = Pick<Telemetry['store'], 'memoryUsed' | 'keysEvicted' | 'memoryNearlyFull'>;

export class MemoryWatch extends Sampling<readonly ServerState[]> {
  readonly #events: MemoryEvents;
  /** The sum over all servers; undefined before the first sample. */
  #evictedKeys: number | undefined;
  /** Whether a server evicts keys when it is full. */
  mayEvict = false;

  constructor(client: RedisClient, events: MemoryEvents) {
    super(
      () => describeServers(client),
      (servers) => this.#report(servers),
    );
    this.#events = events;
  }

  #report(servers: readonly ServerState[]): void {
    this.mayEvict = servers.some(evictsWhenFull);
    const used = Math.max(0, ...servers.map(usedShare));
    this.#events.memoryUsed(used);
    if (used >= NEARLY_FULL) this.#events.memoryNearlyFull(used, this.mayEvict);
    const evictedKeys = servers.reduce((sum, server) => sum + server.evictedKeys, 0);
    // A server that was restarted counts from 0.
    const evicted = evictedKeys - (this.#evictedKeys ?? evictedKeys);
    if (evicted > 0) this.#events.keysEvicted(evicted);
    this.#evictedKeys = evictedKeys;
  }
}

/** Every key of headgate has a time to live, so the volatile policies evict it too. */
function evictsWhenFull({ maxMemoryBytes, maxMemoryPolicy }: ServerState): boolean {
  return maxMemoryBytes > 0 && maxMemoryPolicy !== 'noeviction' && maxMemoryPolicy !== 'unknown';
}

function usedShare({ usedMemoryBytes, maxMemoryBytes }: ServerState): number {
  return maxMemoryBytes === 0 ? 0 : usedMemoryBytes / maxMemoryBytes;
}
