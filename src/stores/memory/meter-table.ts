/**
 * The meters of all keys, in bounded number.
 *
 * Who makes room is decided by a clock hand (F. J. Corbató, "A Paging Experiment with the Multics System", 1968): it
 * goes round over the keys, and takes those that were not asked for since it last came by. A list in the order of use
 * would touch two neighbours for every request; deleting a key from the Map and adding it again costs V8 time in
 * proportion to the size of the Map when it is the same key again and again, as it is under attack.
 */
import type { Meter } from './meter.ts';

interface Entry {
  readonly meter: Meter;
  /** Asked for since it was added, or since the hand came by. */
  used: boolean;
}

/** Keys that the hand looks at for every new one, so that what is over goes faster than what is new comes. */
const LOOKS = 2;
/** Keys that it looks at, when there are too many, before it takes one that is in use. */
const MAX_LOOKS = 64;

export class MeterTable {
  readonly #entries = new Map<string, Entry>();
  readonly #maxKeys: number;
  /** Moves with every new key: an iterator that stands still keeps all that was ever deleted behind it (V8). */
  #hand = this.#entries.entries();

  constructor(maxKeys: number) {
    this.#maxKeys = maxKeys;
  }

  get size(): number {
    return this.#entries.size;
  }

  get(key: string): Meter | undefined {
    const entry = this.#entries.get(key);
    if (entry === undefined) return undefined;
    entry.used = true;
    return entry.meter;
  }

  /** Does not make room by itself: of the keys of one request none must make room for another. */
  add(key: string, meter: Meter): void {
    this.#entries.set(key, { meter, used: false });
  }

  delete(key: string): void {
    this.#entries.delete(key);
  }

  /** After so many keys were added. */
  makeRoom(newKeys: number, nowMs: number): void {
    for (let looks = 0; looks < LOOKS * newKeys; looks++) this.#look(nowMs);
    while (this.#entries.size > this.#maxKeys) this.#evict(nowMs);
  }

  #evict(nowMs: number): void {
    const before = this.#entries.size;
    let key: string | undefined;
    for (let looks = 0; looks < MAX_LOOKS && this.#entries.size === before; looks++) {
      key = this.#look(nowMs);
    }
    if (this.#entries.size === before && key !== undefined) this.#entries.delete(key);
  }

  /** Moves the hand on, and forgets the key there if it is over or, where there are too many, not in use. */
  #look(nowMs: number): string | undefined {
    let next = this.#hand.next();
    if (next.done) {
      this.#hand = this.#entries.entries();
      next = this.#hand.next();
    }
    if (next.done) return undefined;
    const [key, entry] = next.value;
    const isFull = this.#entries.size > this.#maxKeys;
    if (entry.meter.overAtMs <= nowMs || (isFull && !entry.used)) this.#entries.delete(key);
    else if (isFull) entry.used = false;
    return key;
  }
}
