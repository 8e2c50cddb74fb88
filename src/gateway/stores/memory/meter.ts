import type { SettledPart } from '../../core/counting/settlement.ts';
import type { Descriptor, Quota, QuotaState } from '../../core/counting/store.ts';

export type MeteredRequest = Pick<Descriptor, 'quota' | 'cost'>;

export type MeteredPart = Omit<SettledPart, 'key'>;

/** A request with what its token bucket owes at least, because it owes it under the previous name. In units x windowMs. */
export interface IndebtedRequest extends MeteredRequest {
  readonly leastDebt?: number;
}

/** The count of one key, for one algorithm. It is the model for the Lua file of the same algorithm. */
export interface Meter extends Kept {
  /**
   * Whether a request fits. Called first in a take; brings the meter to this moment. If the clock was set back, units in
   * the future count as of now. So no unit is forgotten, and no client waits for it longer than one window.
   */
  fits(request: IndebtedRequest, nowMs: number): boolean;
  /**
   * Called after `fits`, for the same moment. Records the request if it was admitted or rejected requests count, and
   * returns the state of the quota after that. A refund counts only if it was admitted. Rejected requests fill a quota up
   * but never make it grow without end, nor lengthen a wait beyond what a full quota needs.
   */
  record(request: MeteredRequest, nowMs: number, admitted: boolean): QuotaState;
  /**
   * Called after `fits` with a cost of 0, for the same moment, if `used` differs from `reserved`. Returns the units of a
   * surplus that it left out; undefined if what was to be given back no longer counts.
   */
  settle(part: MeteredPart, nowMs: number): number | undefined;
  debtAt?(quota: Quota, nowMs: number): number;
}

export interface Kept {
  /** Used since it was added to the table, or since the hand of the table last passed. */
  used: boolean;
  /** From this moment on it equals a new one, milliseconds since the epoch. */
  readonly expiresMs: number;
}

/** Keys that the hand passes for every new key, so that expired keys leave faster than new ones come. */
const STEPS_PER_KEY = 2;
/** Keys that the hand passes, if there are too many, before it evicts one that is in use. */
const MAX_STEPS = 64;

/**
 * The meters of all keys, or what else is kept of them, up to a maximum number.
 *
 * Keys are evicted by the clock algorithm (F. J. Corbató, "A Paging Experiment with the Multics System", 1968): a hand
 * moves over the keys in a circle and evicts those that were not used since it last passed. An LRU list would update two
 * neighbours for every request. Deleting a key from a Map and adding it again takes V8 time in proportion to the size of
 * the Map if it is always the same key, as it is in an attack.
 */
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
  evict(newKeys: number, nowMs: number): void {
    for (let steps = 0; steps < STEPS_PER_KEY * newKeys; steps++) this.#step(nowMs);
    while (this.#meters.size > this.#maxKeys) this.#evictOne(nowMs);
  }

  #evictOne(nowMs: number): void {
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
    if (meter.expiresMs <= nowMs || (isFull && !meter.used)) this.#meters.delete(key);
    else if (isFull) meter.used = false;
    return key;
  }
}
