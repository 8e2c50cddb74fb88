/**
 * Requests that arrived while this process was late. Each waits until the sockets were read once more: by then a proxy
 * that has given up is known to be gone, and no work is spent on its request.
 */
export interface Waiting {
  /** Whether nobody waits for the answer any more. */
  isGone(): boolean;
  work(): void;
}

/** Milliseconds between two readings of the sockets. */
const SLICE_MS = 10;

export class Backlog {
  readonly #onAbandoned: () => void;
  /** Since when they arrived, the sockets were not read again. */
  #arrived: Waiting[] = [];
  #ready: Waiting[] = [];
  #isScheduled = false;

  constructor(onAbandoned: () => void) {
    this.#onAbandoned = onAbandoned;
  }

  add(request: Waiting): void {
    this.#arrived.push(request);
    this.#schedule();
  }

  #schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    setImmediate(() => this.#run());
  }

  #run(): void {
    this.#isScheduled = false;
    const untilMs = performance.now() + SLICE_MS;
    let done = 0;
    for (const request of this.#ready) {
      if (performance.now() >= untilMs) break;
      done++;
      if (request.isGone()) this.#onAbandoned();
      else request.work();
    }
    this.#ready = [...this.#ready.slice(done), ...this.#arrived];
    this.#arrived = [];
    if (this.#ready.length > 0) this.#schedule();
  }
}
