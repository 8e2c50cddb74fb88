/** What an admitted request took from limits that charge afterwards, until its outcome is known. */
import type { Limit } from '../policy.ts';
import type { Counted } from './decision.ts';
import { partitionOf } from './descriptor.ts';

export interface Reservation {
  /** The clock of the store when the units were taken, milliseconds since the epoch. */
  readonly momentMs: number;
  /** Taken in the store, or in this process because the store failed. */
  readonly mode: 'enforced' | 'local';
  readonly parts: readonly ReservedPart[];
}

export interface ReservedPart {
  readonly limit: Limit;
  /** Whose counter it is, as in the store key. */
  readonly partition: string;
  readonly units: number;
}

/** Undefined if nothing was counted, or no limit charges afterwards. */
export function reservationOf(groups: readonly Counted[]): Reservation | undefined {
  const parts: ReservedPart[] = [];
  let momentMs = 0;
  let mode: Reservation['mode'] = 'enforced';
  for (const { descriptors, result, mode: counted } of groups) {
    if (result === undefined || !result.admitted || (counted !== 'enforced' && counted !== 'local'))
      continue;
    for (const { source, key, cost } of descriptors) {
      if (source.afterwards === undefined) continue;
      parts.push({ limit: source, partition: partitionOf(key), units: cost });
    }
    // All groups of a request are counted within its deadline.
    momentMs = result.nowMs;
    mode = counted;
  }
  return parts.length === 0 ? undefined : { momentMs, mode, parts };
}
