/**
 * Limits how long a reply of Redis is waited for. Redis may still run the command later: then a request is counted that
 * the store did not decide.
 */
import { StoreError } from '../../core/counting/store.ts';

/** Rejects with a StoreError (`timeout`) if the reply takes longer. */
export async function withDeadline<T>(reply: Promise<T>, deadlineMs: number): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const deadline = new Promise<never>((_, reject) => {
    const giveUp = () => reject(tooLate(deadlineMs));
    // If this process itself was late, the reply may have arrived but is read only after the timers.
    timer = setTimeout(() => setImmediate(giveUp), deadlineMs);
  });
  try {
    return await Promise.race([reply, deadline]);
  } finally {
    clearTimeout(timer);
  }
}

function tooLate(deadlineMs: number): StoreError {
  return new StoreError('timeout', `Redis did not answer within ${deadlineMs} ms`);
}

interface Call {
  readonly dueMs: number;
  readonly onLate: (error: StoreError) => void;
  hasEnded: boolean;
}

/**
 * Ends calls that Redis has not answered in time. All calls of a store have the same deadline, so the oldest ends first,
 * and one timer is enough for all of them.
 */
export class CallDeadlines {
  readonly #deadlineMs: number;
  /** Oldest first. Calls that have ended leave when they come first. */
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
    const call: Call = { dueMs: performance.now() + this.#deadlineMs, onLate, hasEnded: false };
    this.#forgetAnswered();
    this.#calls.push(call);
    if (!this.#isTimed) this.#checkAfter(this.#deadlineMs);
    return () => {
      const isFirstEnd = !call.hasEnded;
      call.hasEnded = true;
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
    if (call.hasEnded) return;
    call.hasEnded = true;
    call.onLate(tooLate(this.#deadlineMs));
  }

  #forgetAnswered(): void {
    while (this.#calls[0]?.hasEnded) this.#calls.shift();
  }
}
