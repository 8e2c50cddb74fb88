/** Lists what a request is counted against: one descriptor for each limit and partition. */

import type { CheckContext, RequestContext } from '../check-context.ts';
import { singleValue } from '../identity/header-value.ts';
import type { ClientIdentity } from '../identity/identity.ts';
import { type AddressPartition, GLOBAL_PARTITION, type Pseudonyms } from '../identity/partition.ts';
import { reachesPrevious } from '../identity/salts.ts';
import { everyLimit, type HeaderPartition, type Limit, type Policy } from '../policy.ts';
import type { Reserve } from './outcome.ts';
import type { Descriptor } from './store.ts';

export interface LimitDescriptor extends Descriptor {
  readonly source: Limit;
}

/** `v1` is the version of the key layout. The braces are the Redis Cluster hash tag: one slot per partition. */
export const KEY_PREFIX = 'hg:v1:{';

/** Every key under which these policies, or those of their limits that are `chosen`, may count a partition. */
export function keysOf(
  partition: string,
  policies: readonly Policy[],
  chosen: (limit: Limit) => boolean = () => true,
): string[] {
  const limits = policies.flatMap(everyLimit).filter(chosen);
  return [...new Set(limits.map(({ keySuffix }) => KEY_PREFIX + partition + keySuffix))];
}

export function partitionOf(key: string): string {
  return key.slice(KEY_PREFIX.length, key.indexOf('}'));
}

export type CountedClient = Pick<
  ClientIdentity,
  'kind' | 'address' | 'apiKey' | 'user' | 'plan' | 'headers'
> & {
  /** A partition of Envoy's rate limit filter. */
  readonly descriptor?: string;
  readonly untrustedProxy?: boolean;
};

/** Without a request, limits reserve what they do for unknown values. */
type CountingContext = Pick<CheckContext, 'salts' | 'nowMs'> & Reserving;
type Reserving = Partial<Pick<RequestContext, 'headers' | 'estimates'>>;

export function describe(
  policies: readonly Policy[],
  client: CountedClient,
  context: CountingContext,
): LimitDescriptor[] {
  const descriptors: LimitDescriptor[] = [];
  const { salts } = context;
  const counting = { descriptors, salts, looksBack: looksBack(policies, context) };
  let settles = false;
  for (const policy of policies) {
    if (policy.settles) settles = true;
    for (const limit of limitsFor(policy, client)) {
      const share = shareOf(limit, client);
      if (share.partition !== undefined) descriptors.push(descriptor(limit, share.partition));
      if (!share.countsAddress) continue;
      const counted = share.partition === undefined ? limit : (limit.unverified ?? limit);
      pushAddress(counting, counted, client.address);
    }
  }
  return settles ? withReservations(descriptors, client, context) : descriptors;
}

/** Only a trusted proxy says what a request reserves. */
function withReservations(
  descriptors: LimitDescriptor[],
  { untrustedProxy }: CountedClient,
  context: Reserving,
): LimitDescriptor[] {
  return descriptors.map((each) => {
    const reserve = each.source.afterwards?.reserve;
    if (typeof reserve !== 'object' || untrustedProxy !== false) return each;
    const units = reservedBy(reserve, context);
    if (units === undefined) return each;
    return { ...each, cost: Math.min(units, each.quota.burst), usualCost: each.cost };
  });
}

/** Units that a request says to reserve. Undefined if it does not say it once, as a whole number of at least 0. */
function reservedBy(
  reserve: Exclude<Reserve, number>,
  { headers, estimates }: Reserving,
): number | undefined {
  const value =
    'metadata' in reserve
      ? estimates?.get(reserve.metadata)?.toString()
      : headers && singleValue(headers, reserve.header);
  return value !== undefined && /^\d+$/.test(value) ? Number(value) : undefined;
}

export function limitsFor(policy: Policy, { plan }: Pick<CountedClient, 'plan'>): readonly Limit[] {
  return plan === undefined ? policy.limits : (policy.plans.get(plan) ?? policy.limits);
}

interface Counting extends Pick<CountingContext, 'salts'> {
  readonly descriptors: LimitDescriptor[];
  readonly looksBack: LooksBack;
}

interface LooksBack {
  readonly daily: boolean;
  readonly long: boolean;
}

function looksBack(policies: readonly Policy[], { salts, nowMs }: CountingContext): LooksBack {
  let [dailyMs, longMs] = [0, 0];
  for (const { lookback } of policies) {
    dailyMs = Math.max(dailyMs, lookback.dailyMs);
    longMs = Math.max(longMs, lookback.longMs);
  }
  return {
    daily: reachesPrevious(salts.daily, dailyMs, nowMs),
    long: salts.long !== undefined && reachesPrevious(salts.long, longMs, nowMs),
  };
}

/**
 * Adds the descriptors of an address and of its wider networks. If one limit looks back to the previous pseudonym, all
 * count under it, so that the previous pseudonym alone decides: a Redis Cluster counts under one after the other.
 */
function pushAddress(counting: Counting, limit: Limit, address: AddressPartition): void {
  const { descriptors, salts, looksBack } = counting;
  const isLong = limit.isLong && address.long !== undefined && salts.long !== undefined;
  const { current, previous } = isLong ? address.long : address.daily;
  if (isLong ? looksBack.long : looksBack.daily || limit.isLong) {
    descriptors.push(...named(limit, { current, previous }));
  } else {
    descriptors.push(descriptor(limit, current));
  }
  for (const [i, network] of address.wider.entries()) {
    const wider = limit.wider[i];
    if (wider !== undefined) pushAddress(counting, wider, network);
  }
}

interface Share {
  readonly partition: string | undefined;
  readonly countsAddress: boolean;
}

const GLOBAL: Share = { partition: GLOBAL_PARTITION, countsAddress: false };
const ADDRESS: Share = { partition: undefined, countsAddress: true };

/** A request without the key, user or header counts by its address, so leaving the header out evades no limit. */
function shareOf({ per }: Limit, client: CountedClient): Share {
  const source = per === 'client' ? client.kind : per;
  if (source === 'global') return GLOBAL;
  if (source === 'descriptor') return { partition: client.descriptor, countsAddress: false };
  if (source === 'api_key' && client.apiKey !== undefined) {
    return { partition: client.apiKey.partition, countsAddress: client.apiKey.unverified };
  }
  if (source === 'user' && client.user !== undefined) {
    return { partition: client.user, countsAddress: false };
  }
  const header = source.startsWith('header:')
    ? client.headers.get(source as HeaderPartition)
    : undefined;
  if (header !== undefined) {
    return { partition: header.partition, countsAddress: header.unverified };
  }
  return ADDRESS;
}

/** A limit under both names of a client. The previous one comes first: it has all counts, so it denies first. */
export function named(limit: Limit, { current, previous }: Pseudonyms): LimitDescriptor[] {
  const now = descriptor(limit, current);
  if (previous === undefined) return [now];
  const before = descriptor(limit, previous);
  return [before, { ...now, previousKey: before.key }];
}

export function descriptor(source: Limit, partition: string): LimitDescriptor {
  // Stores look the key up. V8 has to copy a string made with `+` before it can compare it.
  const key = [KEY_PREFIX, partition, source.keySuffix].join('');
  const { quota, cost, afterwards } = source;
  if (afterwards === undefined) return { key, quota, cost, source };
  return { key, quota, cost, source, givesBack: true };
}
