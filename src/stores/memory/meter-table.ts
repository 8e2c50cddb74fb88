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

/** Keys that are looked at for every new one, so that what is over goes faster than what is new comes. */
const SWEPT = 2;
/** Keys that the hand looks at to find one that is not in use, before it takes one that is. */
const MAX_LOOKS = 64;

export class MeterTable {
  readonly #entries = new Map<string, Entry>();
  readonly #maxKeys: number;
  #broom = this.#entries.entries();
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
    for (let swept = 0; swept < SWEPT * newKeys; swept++) this.#sweep(nowMs);
    while (this.#entries.size > this.#maxKeys) this.#evict();
  }

  #sweep(nowMs: number): void {
    let next = this.#broom.next();
    if (next.done) {
      this.#broom = this.#entries.entries();
      next = this.#broom.next();
    }
    if (next.done) return;
    const [key, { meter }] = next.value;
    if (meter.overAtMs <= nowMs) this.#entries.delete(key);
  }

  #evict(): void {
    for (let looks = 1; ; looks++) {
      let next = this.#hand.next();
      if (next.done) {
        this.#hand = this.#entries.entries();
        next = this.#hand.next();
      }
      if (next.done) return;
      const [key, entry] = next.value;
      if (!entry.used || looks === MAX_LOOKS) {
        this.#entries.delete(key);
        return;
      }
      entry.used = false;
    }
  }
}
