/** Policies and a client become the list of things to count. */
import type { ClientIdentity } from './identity.ts';
import type { Limit, Policy } from './policy.ts';
import { type DailySalts, reachesYesterday } from './salts.ts';
import type { Descriptor } from './store.ts';

/** A descriptor that remembers which limit it stands for. */
export interface LimitDescriptor extends Descriptor {
  readonly source: Limit;
}

/** `hg`: ours; `v1`: this layout. The braces are the Redis Cluster hash tag: one partition, one slot. */
const KEY_PREFIX = 'hg:v1:{';
const GLOBAL_PARTITION = 'g';

export function describe(
  policies: readonly Policy[],
  client: ClientIdentity,
  salts: DailySalts,
  nowMs: number,
): LimitDescriptor[] {
  const descriptors: LimitDescriptor[] = [];
  for (const policy of policies) {
    for (const limit of policy.limits) {
      const key = ownPartition(limit, client);
      if (key !== undefined) descriptors.push(descriptor(limit, key));
      if (key === undefined || isUnverified(limit, client)) {
        const counted = key === undefined ? limit : (limit.unverified ?? limit);
        descriptors.push(descriptor(counted, client.address.today));
        if (
          client.address.yesterday !== undefined &&
          reachesYesterday(salts, limit.windowMs, nowMs)
        ) {
          descriptors.push(descriptor(counted, client.address.yesterday));
        }
      }
    }
  }
  return descriptors;
}

/**
 * The partition that a limit is counted by, or undefined when that is the client's address: also for a limit per key
 * or per user of a request that has none, since leaving a header out must not be a way around it.
 */
function ownPartition(limit: Limit, client: ClientIdentity): string | undefined {
  switch (limit.per) {
    case 'client':
      return client.key;
    case 'api_key':
      return client.apiKey;
    case 'user':
      return client.user;
    case 'global':
      return GLOBAL_PARTITION;
    case 'ip':
      return undefined;
  }
}

function isUnverified(limit: Limit, client: ClientIdentity): boolean {
  return limit.per === 'api_key'
    ? client.apiKeyUnverified
    : limit.per === 'client' && client.unverified;
}

function descriptor(source: Limit, partition: string): LimitDescriptor {
  return {
    key: KEY_PREFIX + partition + source.keySuffix,
    limit: source.limit,
    windowMs: source.windowMs,
    cost: source.cost,
    source,
  };
}
