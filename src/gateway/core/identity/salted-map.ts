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
