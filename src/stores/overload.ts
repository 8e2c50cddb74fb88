/**
 * Sheds work before it piles up: while this process is late with everything, requests are not taken to the store but
 * follow the failure mode of their policies at once, which costs about half as much.
 */
import { type Descriptor, type QuotaStore, StoreError, type TakeResult } from '../core/store.ts';

export interface OverloadOptions {
  readonly store: QuotaStore;
  /** Milliseconds of a clock that is never set. */
  readonly now: () => number;
  /** Lateness at which a request would wait too long, milliseconds. */
  readonly limitMs: number;
  /** Told of every request that is shed. */
  readonly onShed?: () => void;
}

const LOOK_EVERY_MS = 10;
/** A pause of the garbage collector is no overload. */
const LATE_IN_A_ROW = 3;

/** One for all: making an error, with its stack, costs more than taking a request. */
const OVERLOADED = new StoreError('overloaded', 'this process is late with everything');

export class Overload implements QuotaStore {
  readonly #options: OverloadOptions;
  readonly #timer: NodeJS.Timeout;
  #dueMs: number;
  #lateInARow = 0;

  constructor(options: OverloadOptions) {
    this.#options = options;
    this.#dueMs = options.now() + LOOK_EVERY_MS;
    this.#timer = setInterval(() => this.#look(), LOOK_EVERY_MS).unref();
  }

  take(descriptors: readonly Descriptor[]): TakeResult | Promise<TakeResult> {
    if (this.#lateInARow < LATE_IN_A_ROW) return this.#options.store.take(descriptors);
    this.#options.onShed?.();
    return Promise.reject(OVERLOADED);
  }

  async reset(keys: readonly string[]): Promise<void> {
    await this.#options.store.reset(keys);
  }

  close(): void {
    clearInterval(this.#timer);
  }

  /** How late a timer is called is how long everything else waits for its turn. */
  #look(): void {
    const nowMs = this.#options.now();
    const isLate = nowMs - this.#dueMs > this.#options.limitMs;
    this.#lateInARow = isLate ? this.#lateInARow + 1 : 0;
    this.#dueMs = nowMs + LOOK_EVERY_MS;
  }
}
