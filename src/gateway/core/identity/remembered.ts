import type { KeyObject } from 'node:crypto';
import { copyOf } from '../copied-text.ts';
import { RecentMap } from '../recent-map.ts';
import type { Salts } from './salts.ts';

/** A longer text could hold any amount of memory, so its value is computed each time. */
const LONGEST_REMEMBERED = 256;

/**
 * Remembers what `compute` returned for recent texts, `max` at most, unless it returned undefined. Once the salts have
 * changed, nothing is left.
 */
export function remember<Value>(
  max: number,
  compute: (text: string) => Value,
): (text: string) => Value;
export function remember<Value>(
  max: number,
  compute: (text: string, salts: Salts) => Value,
): (text: string, salts: Salts) => Value;
export function remember<Value>(max: number, compute: (text: string, salts: never) => Value) {
  const values = new RecentMap<Value & {}>(max);
  // A weak reference, so that expired salts are freed even if no request follows.
  let known: WeakRef<Salts> | undefined;
  return (text: string, salts?: Salts): Value => {
    if (salts !== known?.deref()) {
      values.clear();
      known = salts && new WeakRef(salts);
    }
    const found = values.get(text);
    if (found !== undefined) return found;
    const value = compute(text, salts as never);
    if (text.length <= LONGEST_REMEMBERED && value != null) values.set(copyOf(text), value);
    return value;
  };
}

/** One takes up to 500 bytes. */
const REMEMBERED_PARTITIONS = 20_000;

/** Remembers the partitions of recent users or header values. `partitionOf` keys a value with the kept secret. */
export function rememberPartitions(partitionOf: (value: string, kept: KeyObject) => string) {
  return remember(REMEMBERED_PARTITIONS, (value: string, { kept }: Salts) =>
    partitionOf(value, kept),
  );
}
