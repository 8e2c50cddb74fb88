/**
 * The meters of all keys, or what else is kept of them, up to a maximum number.
 *
 * Keys are evicted by the clock algorithm (F. J. Corbató, "A Paging Experiment with the Multics System", 1968): a hand
 * moves over the keys in a circle and evicts those that were not used since it last passed. An LRU list would update two
 * neighbours for every request. Deleting a key from a Map and adding it again takes V8 time in proportion to the size of
 * the Map if it is always the same key, as it is in an attack.
 */
export interface Kept {
  /** Used since it was added to the table, or since the hand of the table last passed. */
  used: boolean;
  /** From then on it equals a new one, milliseconds since the epoch. */
  readonly overAtMs: number;
}

/** Keys that the hand passes for every new key, so that expired keys leave faster than new ones come. */
const STEPS_PER_KEY = 2;
/** Keys that the hand passes, if there are too many, before it evicts one that is in use. */
const MAX_STEPS = 64;

export class MeterTable<T extends Kept> {
  readonly #meters = new Map<string, T>();
  readonly #maxKeys: number;
  /** Moves with every new key: in V8, an iterator that does not move keeps all keys deleted before it in memory. */
  #hand = this.#meters.entries();

  constructor(maxKeys: number) {
    this.#maxKeys = maxKeys;
  }

  get size(): number {
    return this.#meters.size;
  }

  get(key: string): T | undefined {
    const meter = this.#meters.get(key);
    if (meter !== undefined) meter.used = true;
    return meter;
  }

  /** Evicts nothing: no key of a request may be evicted for another key of the same request. */
  add(key: string, meter: T): void {
    this.#meters.set(key, meter);
  }

  delete(key: string): void {
    this.#meters.delete(key);
  }

  /** Evicts expired keys, and as many others as there are too many. Call after adding `newKeys` keys. */
  makeRoom(newKeys: number, nowMs: number): void {
    for (let steps = 0; steps < STEPS_PER_KEY * newKeys; steps++) this.#step(nowMs);
    while (this.#meters.size > this.#maxKeys) this.#evict(nowMs);
  }

  #evict(nowMs: number): void {
    const before = this.#meters.size;
    let key: string | undefined;
    for (let steps = 0; steps < MAX_STEPS && this.#meters.size === before; steps++) {
      key = this.#step(nowMs);
    }
    if (this.#meters.size === before && key !== undefined) this.#meters.delete(key);
  }

  /** Moves the hand to the next key. Evicts it if it has expired or, if there are too many keys, is not in use. */
  #step(nowMs: number): string | undefined {
    let next = this.#hand.next();
    if (next.done) {
      this.#hand = this.#meters.entries();
      next = this.#hand.next();
    }
    if (next.done) return undefined;
    const [key, meter] = next.value;
    const isFull = this.#meters.size > this.#maxKeys;
    if (meter.overAtMs <= nowMs || (isFull && !meter.used)) this.#meters.delete(key);
    else if (isFull) meter.used = false;
    return key;
  }
}
