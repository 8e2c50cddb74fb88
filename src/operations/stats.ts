/** Reports what the counters take up. */
import type { UnseenHeader } from '../core/header-watch.ts';
import { StoreError } from '../core/store.ts';
import { isoTime } from '../denials/iso-time.ts';
import { refusedFile } from './gateway-report.ts';
import { OperationError } from './operation-error.ts';
import type { Gateway, StoreStats } from './running-gateway.ts';
import type { StatsReport } from './schemas/stats.ts';
import { storeErrorText } from './store-error-text.ts';

/** Rejects with an OperationError if the store is unavailable. */
export async function readStats(
  gateway: Pick<Gateway, 'stats' | 'unseenHeaders' | 'status'>,
): Promise<StatsReport> {
  try {
    const report = reportOf(await gateway.stats(), gateway.unseenHeaders());
    const refused = refusedFile(gateway.status.policyFile.history);
    if (refused === undefined) return report;
    const { atMs, mistakes } = refused;
    return { ...report, policy_file_refused: { at: isoTime(atMs), mistakes } };
  } catch (error) {
    if (!(error instanceof StoreError)) throw error;
    throw new OperationError(
      'store_unavailable',
      `no statistics: ${storeErrorText(error)}; headgate check --redis examines Redis`,
      { cause: error },
    );
  }
}

function reportOf(
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
