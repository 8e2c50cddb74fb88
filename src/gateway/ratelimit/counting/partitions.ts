/** A descriptor whose values hold an address is counted under pseudonyms that change. All others have one name for ever. */
import { holdsAddress } from '../../core/identity/address.ts';
import {
  descriptorPartition,
  descriptorPseudonyms,
  type Pseudonyms,
} from '../../core/identity/partition.ts';
import {
  DAY_MS,
  LONG_PERIOD_MS,
  type PeriodSalts,
  reachesPrevious,
  type Salts,
} from '../../core/identity/salts.ts';
import type { Limit } from '../../core/policy.ts';
import type { Entry } from '../rules/rule.ts';

export interface SaltsNow {
  readonly salts: Salts;
  /** Milliseconds since the epoch. */
  readonly nowMs: number;
}

export interface CountedEntries {
  readonly domain: string;
  readonly entries: readonly Entry[];
}

/** Different domains, keys and values give different texts, because each part follows its length. */
function countedText({ domain, entries }: CountedEntries): string {
  let text = `${domain.length}:${domain}`;
  for (const { key, value } of entries) text += `${key.length}:${key}${value.length}:${value}`;
  return text;
}

/** The current partition, and the one before it while hits that were counted under that one may still matter. */
export function partitionsFor(
  limit: Limit,
  counted: CountedEntries,
  { salts, nowMs }: SaltsNow,
): Pseudonyms {
  const text = countedText(counted);
  const isOfAddress = counted.entries.some(({ value }) => holdsAddress(value));
  const period = isOfAddress ? periodFor(limit, salts) : undefined;
  if (period === undefined) return { current: descriptorPartition(text, salts.kept) };
  const { current, previous } = descriptorPseudonyms(text, period);
  const isOver = endsAtMidnight(limit) || !reachesPrevious(period, limit.lookbackMs, nowMs);
  return isOver ? { current } : { current, previous };
}

/** Undefined for a year, which no salt outlasts. */
function periodFor(
  { isLong, quota: { windowMs } }: Limit,
  { daily, long }: Salts,
): PeriodSalts | undefined {
  if (!isLong) return daily;
  return windowMs <= LONG_PERIOD_MS ? long : undefined;
}

/** Whether a window ends at each midnight UTC, where salts change. */
function endsAtMidnight({ quota: { algorithm, windowMs } }: Limit): boolean {
  return algorithm === 'fixed-window' && DAY_MS % windowMs === 0;
}
