/**
 * Ends calls that Redis has not answered in time. All calls of a store have the same deadline, so the oldest ends first,
 * and one timer is enough for all of them.
 */
import type { StoreError } from '../../core/counting/store.ts';
import { tooLate } from './deadline.ts';

interface Call {
  readonly dueMs: number;
  readonly onLate: (error: StoreError) => void;
  isOver: boolean;
}

export class CallDeadlines {
  readonly #deadlineMs: number;
  /** Oldest first. Calls that are over leave when they come first. */
  readonly #calls: Call[] = [];
  #isTimed = false;

  constructor(deadlineMs: number) {
    this.#deadlineMs = deadlineMs;
  }

  /**
   * Call this when a call begins, and the returned function when it ends. That function returns false if the call has
   * ended before, because it was late. `onLate` gets a StoreError (`timeout`).
   */
  begin(onLate: (error: StoreError) => void): () => boolean {
    const call: Call = { dueMs: performance.now() + this.#deadlineMs, onLate, isOver: false };
    this.#forgetAnswered();
    this.#calls.push(call);
    if (!this.#isTimed) this.#checkAfter(this.#deadlineMs);
    return () => {
      const isFirstEnd = !call.isOver;
      call.isOver = true;
      return isFirstEnd;
    };
  }

  #checkAfter(waitMs: number): void {
    this.#isTimed = true;
    setTimeout(() => this.#check(), waitMs).unref();
  }

  #check(): void {
    this.#isTimed = false;
    const nowMs = performance.now();
    this.#forgetAnswered();
    for (let call = this.#calls[0]; call !== undefined; call = this.#calls[0]) {
      if (call.dueMs > nowMs) {
        this.#checkAfter(Math.ceil(call.dueMs - nowMs));
        return;
      }
      this.#calls.shift();
      // If this process itself was late, the reply may have arrived but is read only after the timers.
      setImmediate(() => this.#end(call));
    }
  }

  #end(call: Call): void {
    if (call.isOver) return;
    call.isOver = true;
    call.onLate(tooLate(this.#deadlineMs));
  }

  #forgetAnswered(): void {
    while (this.#calls[0]?.isOver) this.#calls.shift();
  }
}
