/**
 * Checks that arrived while the event loop was overloaded. Each waits until the sockets have been read once more. By then
 * a proxy that gave up is known to have disconnected, and its check costs no work.
 */
export interface Waiting {
  /** Whether the caller has disconnected. */
  isGone(): boolean;
  work(): void;
}

/** The longest work between two reads of the sockets, in milliseconds. */
const SLICE_MS = 10;

export class Backlog {
  readonly #onAbandoned: () => void;
  /** The sockets have not been read since these arrived. */
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
