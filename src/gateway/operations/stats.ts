import { StoreError } from '../core/counting/store.ts';
import { isoTime } from '../denials/iso-time.ts';
import { refusedFile, reportsOfAll } from './gateway-report.ts';
import { OperationError } from './operation-error.ts';
import type { Output } from './operation-table.ts';
import type { Gateway, StoreStats } from './running-gateway.ts';
import { isSilence, silenceText, storeErrorText } from './store-text.ts';

/** Rejects with an OperationError if the store refuses. While it does not answer, the counts are missing. */
export async function readStats(gateway: Gateway): Promise<Output<'stats'>> {
  const refused = refusedFile(gateway.status.policyFile.history);
  const [{ store, ...counts }, { reports }] = await Promise.all([
    countsOf(gateway),
    reportsOfAll(gateway),
  ]);
  return {
    store,
    gateways: gateway.knownGateways(),
    gateways_answered: reports.length,
    workers: reports.filter((report) => report.is_worker).length,
    ...counts,
    unseen_headers: [...gateway.unseenHeaders()],
    ...(refused && {
      policy_file_refused: { at: isoTime(refused.atMs), mistakes: refused.mistakes },
    }),
  };
}

type Counts = Omit<
  Output<'stats'>,
  'gateways' | 'gateways_answered' | 'workers' | 'unseen_headers' | 'policy_file_refused'
>;

async function countsOf(gateway: Gateway): Promise<Counts> {
  try {
    return reportOf(await gateway.stats());
  } catch (error) {
    if (!(error instanceof StoreError)) throw error;
    if (isSilence(error.reason))
      return { store: 'redis', unavailable: silenceText(gateway), servers: [] };
    throw new OperationError(
      'store_unavailable',
      `no statistics: ${storeErrorText(error)}; headgate check --redis examines Redis`,
      { cause: error },
    );
  }
}

function reportOf({ store, keyspace, servers }: StoreStats): Counts {
  return {
    store,
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
  };
}
