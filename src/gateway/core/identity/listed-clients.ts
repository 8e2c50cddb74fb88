/** The clients of listed keys by their partitions, so that operators see the ids that they wrote in the policy file. */
import type { ListedKey } from './api-key.ts';
import { listedKeyPartition } from './partition.ts';

export interface ListedClient {
  readonly id: string;
  /** Undefined also if the keys of this client have different plans. */
  readonly plan: string | undefined;
}

export type ListedClients = ReadonlyMap<string, ListedClient>;

export function compileListedClients(keys: readonly ListedKey[]): ListedClients {
  const byId = new Map<string, ListedClient>();
  for (const { id, plan } of keys) {
    const known = byId.get(id);
    byId.set(id, { id, plan: known === undefined || known.plan === plan ? plan : undefined });
  }
  return new Map([...byId.values()].map((client) => [listedKeyPartition(client.id), client]));
}
