/**
 * Sheds load. While the event loop is overloaded, the store is not called, and requests follow the failure mode of their
 * policies at once, which costs less.
 */
import { StoreError } from '../core/counting/store.ts';
import type { Gate } from './guarded-store.ts';

export interface OverloadOptions {
  /** Milliseconds of a monotonic clock. */
  readonly now: () => number;
  /** How late a timer may be, milliseconds. */
  readonly limitMs: number;
  /** Called for every request that is shed. */
  readonly onShed?: () => void;
}

const CHECK_EVERY_MS = 10;
/** A single late timer may be a pause of the garbage collector. */
const LATE_IN_A_ROW = 3;

/** Created once: creating an error with its stack costs more than taking a request. */
const OVERLOADED = new StoreError('overloaded', 'event loop overloaded');

export class Overload implements Gate {
  readonly #options: OverloadOptions;
  readonly #timer: NodeJS.Timeout;
  #dueMs: number;
  #lateInARow = 0;

  constructor(options: OverloadOptions) {
    this.#options = options;
    this.#dueMs = options.now() + CHECK_EVERY_MS;
    this.#timer = setInterval(() => this.#check(), CHECK_EVERY_MS).unref();
  }

  obstacle(): StoreError | undefined {
    if (this.#lateInARow < LATE_IN_A_ROW) return undefined;
    this.#options.onShed?.();
    return OVERLOADED;
  }

  close(): void {
    clearInterval(this.#timer);
  }

  /** A timer is as late as everything else that waits for the event loop. */
  #check(): void {
    const nowMs = this.#options.now();
    const isLate = nowMs - this.#dueMs > this.#options.limitMs;
    this.#lateInARow = isLate ? this.#lateInARow + 1 : 0;
    this.#dueMs = nowMs + CHECK_EVERY_MS;
  }
}
