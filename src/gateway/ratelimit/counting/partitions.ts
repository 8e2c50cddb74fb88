/** A descriptor whose values hold an address is counted under pseudonyms that change. All others have one name for ever. */
import { holdsAddress } from '../../core/identity/address.ts';
import {
  descriptorPartition,
  descriptorPseudonyms,
  type Pseudonyms,
} from '../../core/identity/partition.ts';
import { remember } from '../../core/identity/remembered.ts';
import { DAY_MS, LONG_PERIOD_MS, reachesPrevious, type Salts } from '../../core/identity/salts.ts';
import type { Limit } from '../../core/policy.ts';
import type { Entry } from '../rules/rule.ts';

export interface SaltsNow {
  readonly salts: Salts;
  /** Milliseconds since the epoch. */
  readonly nowMs: number;
  readonly names: ReturnType<typeof descriptorNames>;
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

/** The names of a descriptor, as far as they were needed. */
interface Named {
  isOfAddress?: boolean;
  lasting?: Pseudonyms;
  daily?: Pseudonyms;
  long?: Pseudonyms;
}

/** One takes up to 1 KB. */
const REMEMBERED_DESCRIPTORS = 20_000;

/** Remembers the names of recent descriptors: an HMAC costs as much as the rest of a plan. */
export function descriptorNames() {
  return remember(REMEMBERED_DESCRIPTORS, (_text: string, _salts: Salts): Named => ({}));
}

/** The current partition, and the one before it while hits that were counted under that one may still matter. */
export function partitionsFor(
  limit: Limit,
  counted: CountedEntries,
  { salts, nowMs, names }: SaltsNow,
): Pseudonyms {
  const text = countedText(counted);
  const named = names(text, salts);
  named.isOfAddress ??= counted.entries.some(({ value }) => holdsAddress(value));
  const kind = named.isOfAddress ? periodFor(limit) : 'lasting';
  const period = kind === 'lasting' ? undefined : salts[kind];
  if (period === undefined) {
    named.lasting ??= { current: descriptorPartition(text, salts.kept) };
    return named.lasting;
  }
  named[kind] ??= descriptorPseudonyms(text, period);
  const { current } = named[kind];
  const isOver = endsAtMidnight(limit) || !reachesPrevious(period, limit.lookbackMs, nowMs);
  return isOver ? { current } : named[kind];
}

/** No salt outlasts a year. */
function periodFor({ isLong, quota: { windowMs } }: Limit): 'daily' | 'long' | 'lasting' {
  if (!isLong) return 'daily';
  return windowMs <= LONG_PERIOD_MS ? 'long' : 'lasting';
}

/** Whether a window ends at each midnight UTC, where salts change. */
function endsAtMidnight({ quota: { algorithm, windowMs } }: Limit): boolean {
  return algorithm === 'fixed-window' && DAY_MS % windowMs === 0;
}
