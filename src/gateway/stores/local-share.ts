/** This process's share of every limit, for when the store fails. All gateways together admit what the limit allows. */

import type { SettlementStore } from '../core/counting/settlement.ts';
import type { Descriptor, LocalLimiter, Quota } from '../core/counting/store.ts';
import { fnv1a32 } from '../core/fnv1a.ts';
import type { MemoryStore } from './memory/memory-store.ts';

export interface GatewayRank {
  readonly count: number;
  /** The first gateway has the rank 0. */
  readonly rank: number;
}

export function localShare(
  memory: MemoryStore,
  placeNow: () => GatewayRank,
): LocalLimiter & SettlementStore & Pick<MemoryStore, 'peek'> {
  const sharesOf = <Counted extends Descriptor>(all: readonly Counted[]): readonly Counted[] => {
    const place = placeNow();
    return place.count === 1 ? all : all.map((each) => ({ ...each, quota: shareOf(each, place) }));
  };
  return {
    record: (descriptors) => memory.record(descriptors),
    peek: (descriptors) => memory.peek(sharesOf(descriptors)),
    take: (descriptors) => memory.take(sharesOf(descriptors)),
    /** Only the gateway that admitted a request corrects what its limiter counted. */
    settle({ parts, ...settlement }) {
      const taken = parts.map((part) => ({ ...part, cost: part.reserved }));
      return memory.settle({ ...settlement, parts: sharesOf(taken) });
    },
  };
}

/**
 * The share of one gateway. The shares of all gateways add up to the quota, in whole requests; for checks and refunds, in
 * units. If requests of one counter differ, the usual request is the measure: shares of different measures could add up to
 * more. Which gateways get the requests that remain after the division depends on the key.
 */
export function shareOf(
  { key, quota, cost, usualCost = cost }: Descriptor,
  { count, rank }: GatewayRank,
): Quota {
  const turn = (rank + fnv1a32(key)) % count;
  const unitsEach = Math.max(1, usualCost);
  const part = (units: number) => {
    const requests = Math.floor(units / unitsEach);
    const extra = turn < requests % count ? 1 : 0;
    return (Math.floor(requests / count) + extra) * unitsEach;
  };
  // A bucket with a limit of 0 would never be full again, so it could not say when.
  const isBucket = quota.algorithm === 'token-bucket';
  const limit = isBucket ? Math.max(1, Math.floor(quota.limit / count)) : part(quota.limit);
  return { ...quota, limit, burst: part(quota.burst) };
}
