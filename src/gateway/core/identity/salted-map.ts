import type { KeyObject } from 'node:crypto';
import { RecentMap } from '../recent-map.ts';
import type { Salts } from './salts.ts';

/** A cache of what was computed under the salts. It is empty once they have changed. */
export class SaltedMap<Value extends {}> {
  readonly #values: RecentMap<Value>;
  // A weak reference, so that expired salts are freed even if no request follows.
  #salts: WeakRef<Salts> | undefined;

  constructor(max: number) {
    this.#values = new RecentMap(max);
  }

  under(salts: Salts): RecentMap<Value> {
    if (salts !== this.#salts?.deref()) {
      this.#values.clear();
      this.#salts = new WeakRef(salts);
    }
    return this.#values;
  }
}

/** One takes up to 500 bytes. */
const REMEMBERED_VALUES = 20_000;
const LONGEST_REMEMBERED = 256;

/** Remembers the partitions of recent users or header values. `partitionOf` keys a value with the kept secret. */
export function rememberPartitions(partitionOf: (value: string, kept: KeyObject) => string) {
  const remembered = new SaltedMap<string>(REMEMBERED_VALUES);
  return (value: string, salts: Salts): string => {
    const known = remembered.under(salts);
    let partition = known.get(value);
    if (partition === undefined) {
      partition = partitionOf(value, salts.kept);
      if (value.length <= LONGEST_REMEMBERED) known.set(value, partition);
    }
    return partition;
  };
}
