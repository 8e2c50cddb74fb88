/** Reports what the counters take up. */
import type { UnseenHeader } from '../core/header-watch.ts';
import type { Keyspace, ServerState } from '../stores/redis/keyspace.ts';
import type { StatsReport } from './schemas/stats.ts';

export interface StoreStats {
  readonly store: 'memory' | 'redis';
  /** Gateways that share the counters. */
  readonly gateways: number;
  readonly keyspace: Keyspace;
  /** The Redis server, or the masters of a cluster. */
  readonly servers: readonly ServerState[];
}

export function statsReport(
  { store, gateways, keyspace, servers }: StoreStats,
  unseenHeaders: readonly UnseenHeader[],
): StatsReport {
  return {
    store,
    gateways,
    active_windows: keyspace.activeWindows,
    is_exact: keyspace.isExact,
    sampled_keys: keyspace.sampledKeys,
    ...(keyspace.memoryBytes !== undefined && { memory_bytes: keyspace.memoryBytes }),
    servers: servers.map((server) => ({
      version: server.version,
      used_memory_bytes: server.usedMemoryBytes,
      max_memory_bytes: server.maxMemoryBytes,
      max_memory_policy: server.maxMemoryPolicy,
      evicted_keys: server.evictedKeys,
      connected_clients: server.connectedClients,
    })),
    unseen_headers: [...unseenHeaders],
  };
}
