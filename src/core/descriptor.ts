/** Policies and a client become the list of things to count. */
import type { ClientIdentity } from './identity.ts';
import { type AddressPartition, GLOBAL_PARTITION } from './partition.ts';
import type { HeaderPartition, Limit, Policy } from './policy.ts';
import { DAY_MS, reachesPrevious, type Salts } from './salts.ts';
import type { Descriptor } from './store.ts';

/** A descriptor that remembers which limit it stands for. */
export interface LimitDescriptor extends Descriptor {
  readonly source: Limit;
}

/** `hg`: ours; `v1`: this layout. The braces are the Redis Cluster hash tag: one partition, one slot. */
const KEY_PREFIX = 'hg:v1:{';

/** Every key under which these policies may count a partition. */
export function keysOf(partition: string, policies: readonly Policy[]): string[] {
  const limits = policies.flatMap(({ limits: own, plans }) => [own, ...plans.values()].flat());
  return [...new Set(limits.map(({ keySuffix }) => KEY_PREFIX + partition + keySuffix))];
}

/** Whose share a store key counts. */
export function partitionOf(key: string): string {
  return key.slice(KEY_PREFIX.length, key.indexOf('}'));
}

export function describe(
  policies: readonly Policy[],
  client: ClientIdentity,
  salts: Salts,
  nowMs: number,
): LimitDescriptor[] {
  const descriptors: LimitDescriptor[] = [];
  for (const policy of policies) {
    for (const limit of limitsFor(policy, client)) {
      const share = shareOf(limit, client);
      if (share.partition !== undefined) descriptors.push(descriptor(limit, share.partition));
      if (!share.countsAddress) continue;
      const counted = share.partition === undefined ? limit : (limit.unverified ?? limit);
      describeAddress(descriptors, counted, client.address, salts, nowMs);
    }
  }
  return descriptors;
}

/** Those of the client's plan, where the policy has any for it. */
function limitsFor(policy: Policy, { plan }: ClientIdentity): readonly Limit[] {
  return plan === undefined ? policy.limits : (policy.plans.get(plan) ?? policy.limits);
}

function describeAddress(
  descriptors: LimitDescriptor[],
  limit: Limit,
  address: AddressPartition,
  salts: Salts,
  nowMs: number,
): void {
  const { windowMs } = limit.quota;
  const isLong = windowMs > DAY_MS && address.long !== undefined && salts.long !== undefined;
  const { current, previous } = isLong ? address.long : address.daily;
  descriptors.push(descriptor(limit, current));
  if (
    previous !== undefined &&
    reachesPrevious(isLong ? salts.long : salts.daily, windowMs, nowMs)
  ) {
    descriptors.push(descriptor(limit, previous));
  }
  for (const [i, network] of address.wider.entries()) {
    const wider = limit.wider[i];
    if (wider !== undefined) describeAddress(descriptors, wider, network, salts, nowMs);
  }
}

/** What a limit counts: a partition of its own, the client's address, or both. */
interface Share {
  readonly partition: string | undefined;
  readonly countsAddress: boolean;
}

const GLOBAL: Share = { partition: GLOBAL_PARTITION, countsAddress: false };
const ADDRESS: Share = { partition: undefined, countsAddress: true };

/** A request without a key, user or header counts for its address: leaving a header out must not be a way around a limit. */
function shareOf({ per }: Limit, client: ClientIdentity): Share {
  const whose = per === 'client' ? client.kind : per;
  if (whose === 'global') return GLOBAL;
  if (whose === 'api_key' && client.apiKey !== undefined) {
    return { partition: client.apiKey.partition, countsAddress: client.apiKey.unverified };
  }
  if (whose === 'user' && client.user !== undefined) {
    return { partition: client.user, countsAddress: false };
  }
  const header = whose.startsWith('header:')
    ? client.headers.get(whose as HeaderPartition)
    : undefined;
  if (header !== undefined) {
    return { partition: header.partition, countsAddress: header.unverified };
  }
  return ADDRESS;
}

function descriptor(source: Limit, partition: string): LimitDescriptor {
  return {
    key: KEY_PREFIX + partition + source.keySuffix,
    quota: source.quota,
    cost: source.cost,
    source,
  };
}
