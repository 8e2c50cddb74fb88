/**
 * Sheds work before it piles up: while this process is late with everything, the store is not asked, and requests follow
 * the failure mode of their policies at once, which costs less.
 */
import { StoreError } from '../core/store.ts';
import type { Gate } from './guarded-store.ts';

export interface OverloadOptions {
  /** Milliseconds of a clock that is never set. */
  readonly now: () => number;
  /** Lateness that is too much, milliseconds. */
  readonly limitMs: number;
  /** Told of every request that is shed. */
  readonly onShed?: () => void;
}

const LOOK_EVERY_MS = 10;
/** A pause of the garbage collector is no overload. */
const LATE_IN_A_ROW = 3;

/** One for all: making an error, with its stack, costs more than taking a request. */
const OVERLOADED = new StoreError('overloaded', 'this process is late with everything');

export class Overload implements Gate {
  readonly #options: OverloadOptions;
  readonly #timer: NodeJS.Timeout;
  #dueMs: number;
  #lateInARow = 0;

  constructor(options: OverloadOptions) {
    this.#options = options;
    this.#dueMs = options.now() + LOOK_EVERY_MS;
    this.#timer = setInterval(() => this.#look(), LOOK_EVERY_MS).unref();
  }

  obstacle(): StoreError | undefined {
    if (this.#lateInARow < LATE_IN_A_ROW) return undefined;
    this.#options.onShed?.();
    return OVERLOADED;
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
