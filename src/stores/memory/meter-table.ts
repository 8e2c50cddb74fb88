/**
 * The meters of all keys, in the order of their last use.
 *
 * A list through the entries keeps that order. Deleting a key from a Map and adding it again would too, but costs V8
 * time in proportion to the size of the Map when it is the same key again and again, as it is under attack.
 */
import type { Meter } from './meter.ts';

export interface MeterEntry {
  readonly key: string;
  readonly meter: Meter;
  /** Neighbours in the order of use. */
  older: MeterEntry | undefined;
  newer: MeterEntry | undefined;
}

export class MeterTable {
  readonly #byKey = new Map<string, MeterEntry>();
  #oldest: MeterEntry | undefined;
  #newest: MeterEntry | undefined;

  get size(): number {
    return this.#byKey.size;
  }

  /** The entry that was not used for the longest time. */
  get oldest(): MeterEntry | undefined {
    return this.#oldest;
  }

  /** Counts as a use. */
  get(key: string): MeterEntry | undefined {
    const entry = this.#byKey.get(key);
    if (entry !== undefined && entry !== this.#newest) {
      this.#unlink(entry);
      this.#linkAsNewest(entry);
    }
    return entry;
  }

  /** Does nothing for a key that is there. */
  add(key: string, meter: Meter): void {
    if (this.#byKey.has(key)) return;
    const entry: MeterEntry = { key, meter, older: undefined, newer: undefined };
    this.#byKey.set(key, entry);
    this.#linkAsNewest(entry);
  }

  delete(key: string): void {
    const entry = this.#byKey.get(key);
    if (entry === undefined) return;
    this.#byKey.delete(key);
    this.#unlink(entry);
  }

  #linkAsNewest(entry: MeterEntry): void {
    entry.older = this.#newest;
    entry.newer = undefined;
    if (this.#newest === undefined) this.#oldest = entry;
    else this.#newest.newer = entry;
    this.#newest = entry;
  }

  #unlink({ older, newer }: MeterEntry): void {
    if (older === undefined) this.#oldest = newer;
    else older.newer = newer;
    if (newer === undefined) this.#newest = older;
    else newer.older = older;
  }
}
