/** The clients of listed keys by their partitions, so that operators see the ids that they wrote. */
import type { ListedKey } from './api-key.ts';
import type { StoredKey } from './key-directory.ts';
import { listedKeyPartition } from './partition.ts';

interface ListedClient {
  readonly id: string;
  /** Undefined if the keys of this client have no plan, or different ones. */
  readonly plan: string | undefined;
  /** One of its keys, if the store keeps them; undefined for a client that the policy file lists. */
  readonly stored?: StoredKey;
}

export interface ListedClients {
  get(partition: string): ListedClient | undefined;
  /** Whether a policy has the plan. Otherwise the limits without a plan apply. */
  hasPlan(plan: string): boolean;
}

export function compileListedClients(
  keys: readonly ListedKey[],
  hasPlan: ListedClients['hasPlan'],
): ListedClients {
  const byId = new Map<string, ListedClient>();
  for (const { id, plan } of keys) {
    const known = byId.get(id);
    byId.set(id, { id, plan: known === undefined || known.plan === plan ? plan : undefined });
  }
  const clients = new Map(
    [...byId.values()].map((client) => [listedKeyPartition(client.id), client]),
  );
  return { get: (partition) => clients.get(partition), hasPlan };
}
