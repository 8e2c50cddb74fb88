/** What an admitted request took from limits that charge afterwards, until its outcome is known. */
import type { Limit } from '../policy.ts';
import type { Counted } from './decision.ts';
import { partitionOf } from './descriptor.ts';

export interface Reservation {
  /** Of the first part. */
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
  /** The clock of the store when they were taken, milliseconds since the epoch. Groups, and slots of a cluster, are taken one after the other. */
  readonly momentMs: number;
}

/** Undefined if nothing was counted, or no limit charges afterwards. */
export function reservationOf(groups: readonly Counted[]): Reservation | undefined {
  const parts: ReservedPart[] = [];
  let mode: Reservation['mode'] = 'enforced';
  for (const { descriptors, result, mode: counted } of groups) {
    if (result === undefined || !result.admitted || (counted !== 'enforced' && counted !== 'local'))
      continue;
    for (const [i, { source, key, cost }] of descriptors.entries()) {
      if (source.afterwards === undefined) continue;
      const momentMs = result.states[i]?.takenAtMs ?? result.nowMs;
      parts.push({ limit: source, partition: partitionOf(key), units: cost, momentMs });
      mode = counted;
    }
  }
  const [first] = parts;
  return first && { momentMs: first.momentMs, mode, parts };
}
