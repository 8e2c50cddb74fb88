/** Under which partitions a descriptor is counted. Its values may be addresses, so they become pseudonyms. */
import {
  descriptorPartition,
  descriptorPseudonyms,
  type Pseudonyms,
} from '../../core/partition.ts';
import type { Limit } from '../../core/policy.ts';
import {
  DAY_MS,
  LONG_PERIOD_MS,
  type PeriodSalts,
  reachesPrevious,
  type Salts,
} from '../../core/salts.ts';
import type { Entry } from '../rules/rule.ts';

export interface SaltsNow {
  readonly salts: Salts;
  /** Milliseconds since the epoch. */
  readonly nowMs: number;
}

/** Different domains, keys and values give different texts, because each part follows its length. */
export function countedText(domain: string, entries: readonly Entry[]): string {
  let text = `${domain.length}:${domain}`;
  for (const { key, value } of entries) text += `${key.length}:${key}${value.length}:${value}`;
  return text;
}

/** The current partition, and the one before it while hits that were counted under that one may still matter. */
export function partitionsFor(
  { quota: { windowMs, algorithm }, lookbackMs }: Limit,
  text: string,
  { salts, nowMs }: SaltsNow,
): Pseudonyms {
  const period = periodFor(windowMs, salts);
  // No salt outlasts a year. Windows of that length are for names that are no addresses.
  if (period === undefined) return { current: descriptorPartition(text) };
  const { current, previous } = descriptorPseudonyms(text, period);
  // Salts change at midnight UTC, where these windows end.
  const endsWithSalt = algorithm === 'fixed-window' && windowMs <= DAY_MS;
  const isOver = endsWithSalt || !reachesPrevious(period, lookbackMs, nowMs);
  return isOver ? { current } : { current, previous };
}

function periodFor(windowMs: number, { daily, long }: Salts): PeriodSalts | undefined {
  if (windowMs <= DAY_MS) return daily;
  return windowMs <= LONG_PERIOD_MS ? long : undefined;
}
