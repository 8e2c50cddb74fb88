import type { KeyObject } from 'node:crypto';
import { RecentMap } from '../recent-map.ts';
import type { Salts } from './salts.ts';

/** A longer text could hold any amount of memory, so its value is computed each time. */
const LONGEST_REMEMBERED = 256;

/** Remembers what `compute` returned for recent texts, `max` at most. Once the salts have changed, nothing is left. */
export function rememberUnderSalts<Value extends {}>(
  max: number,
  compute: (text: string, salts: Salts) => Value,
) {
  const values = new RecentMap<Value>(max);
  // A weak reference, so that expired salts are freed even if no request follows.
  let known: WeakRef<Salts> | undefined;
  return (text: string, salts: Salts): Value => {
    if (salts !== known?.deref()) {
      values.clear();
      known = new WeakRef(salts);
    }
    let value = values.get(text);
    if (value === undefined) {
      value = compute(text, salts);
      if (text.length <= LONGEST_REMEMBERED) values.set(text, value);
    }
    return value;
  };
}

/** One takes up to 500 bytes. */
const REMEMBERED_PARTITIONS = 20_000;

/** Remembers the partitions of recent users or header values. `partitionOf` keys a value with the kept secret. */
export function rememberPartitions(partitionOf: (value: string, kept: KeyObject) => string) {
  return rememberUnderSalts(REMEMBERED_PARTITIONS, (value, { kept }) => partitionOf(value, kept));
}
