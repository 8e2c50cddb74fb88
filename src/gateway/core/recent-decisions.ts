/**
 * Remembers the decisions of the latest requests by their ids. The ids are in a ring of fixed size, and those with the same
 * hash form a chain from the latest to the oldest. A Map would copy its table again and again while it grows, and needs an
 * object for each id, which the garbage collector copies too.
 */
import type { Decision } from './counting/decision.ts';
import { fnv1a32 } from './fnv1a.ts';

export interface Remembered {
  readonly atMs: number;
  readonly decision: Decision | Promise<Decision>;
}

/** A power of two. An id, its decision and its place take some 500 bytes, so 16 MB at most; settle tokens up to 20 MB more. */
const KEPT = 32_768;
/** More ids with one hash are no chance: somebody chose them. */
const MAX_COMPARED = 64;
const NONE = -1;

export class RecentDecisions {
  readonly #ids = new Array<string>(KEPT).fill('');
  readonly #decisions = new Array<Remembered['decision'] | undefined>(KEPT).fill(undefined);
  readonly #atMs = new Float64Array(KEPT);
  /** By hash, the number of the latest id. */
  readonly #latest = new Float64Array(KEPT).fill(NONE);
  /** By slot, the number of the previous id with the same hash. */
  readonly #previous = new Float64Array(KEPT).fill(NONE);
  /** Each id has a number. It is in the slot of the lowest bits, until another id with the same lowest bits comes. */
  #count = 0;
  /** The number of the oldest id that is kept. */
  #oldest = 0;
  readonly #lifetimeMs: number;

  constructor(lifetimeMs: number) {
    this.#lifetimeMs = lifetimeMs;
  }

  find(id: string): Remembered | undefined {
    let number = this.#latest[hashOf(id)] as number;
    for (let compared = 0; number >= this.#oldest && compared < MAX_COMPARED; compared++) {
      const slot = slotOf(number);
      const decision = this.#decisions[slot];
      if (decision !== undefined && this.#ids[slot] === id) {
        return { atMs: this.#atMs[slot] as number, decision };
      }
      number = this.#previous[slot] as number;
    }
    return undefined;
  }

  add(id: string, { atMs, decision }: Remembered): void {
    this.#forgetExpired(atMs);
    const hash = hashOf(id);
    const number = this.#count++;
    const slot = slotOf(number);
    this.#ids[slot] = id;
    this.#decisions[slot] = decision;
    this.#atMs[slot] = atMs;
    this.#previous[slot] = this.#latest[hash] as number;
    this.#latest[hash] = number;
    this.#oldest = Math.max(this.#oldest, this.#count - KEPT);
  }

  /** A decision names its client, so it is dropped even if few requests follow. Two for each new one, so none waits long. */
  #forgetExpired(nowMs: number): void {
    for (let i = 0; i < 2 && this.#oldest < this.#count; i++) {
      const slot = slotOf(this.#oldest);
      if (nowMs - (this.#atMs[slot] as number) < this.#lifetimeMs) return;
      this.#ids[slot] = '';
      this.#decisions[slot] = undefined;
      this.#oldest++;
    }
  }
}

function hashOf(id: string): number {
  const hash = fnv1a32(id);
  return (hash ^ (hash >>> 15)) & (KEPT - 1);
}

/** Bitwise operators take the lowest bits also of numbers above 2^32. */
function slotOf(number: number): number {
  return number & (KEPT - 1);
}
