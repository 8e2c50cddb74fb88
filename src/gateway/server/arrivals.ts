/** When requests are answered: at once or, if the event loop is late, after the sockets have been read once more. */

/** A longer turn is late. Proxies wait 150 ms or more, but requests also queue in the kernel. */
const LATE_MS = 5;
/** The longest work between two reads of the sockets, in milliseconds. */
const SLICE_MS = 10;

export class Arrivals {
  readonly #turn = new Turn();
  readonly #backlog: Backlog;

  /** `onAbandoned` is called for each caller that has disconnected before its request was looked at. */
  constructor(onAbandoned: () => void) {
    this.#backlog = new Backlog(onAbandoned);
  }

  /** `startedMs`: when the request arrived, of `performance.now()`. */
  add(startedMs: number, request: { isGone(): boolean }, work: () => void): void {
    if (!this.#turn.isLate(startedMs)) work();
    else this.#backlog.add({ isGone: () => request.isGone(), work });
  }

  atEndOfTurn(job: () => void): void {
    this.#turn.atEnd(job);
  }
}

/**
 * One turn of the event loop: everything that has arrived is read, then the `atEnd` jobs run.
 *
 * Answers are written at the end of a turn. An answer written between two requests wakes its reader at once, and each
 * time the processor switches. Written together, a decision in memory took 26 us instead of 37 (measured with wrk on the
 * same machine).
 */
export class Turn {
  #jobs: (() => void)[] = [];
  #startedMs: number | undefined;
  #lastTookMs = 0;

  /** The job must not throw, because others run after it. */
  atEnd(job: () => void): void {
    this.#jobs.push(job);
    this.#begin(performance.now());
  }

  /** Whether a request that arrived at `nowMs` (of `performance.now()`) may have waited: this or the last turn was late. */
  isLate(nowMs: number): boolean {
    const startedMs = this.#begin(nowMs);
    return this.#lastTookMs > LATE_MS || nowMs - startedMs > LATE_MS;
  }

  #begin(nowMs: number): number {
    if (this.#startedMs === undefined) {
      this.#startedMs = nowMs;
      setImmediate(() => this.#end(nowMs));
    }
    return this.#startedMs;
  }

  #end(startedMs: number): void {
    const jobs = this.#jobs;
    this.#jobs = [];
    this.#startedMs = undefined;
    for (const job of jobs) job();
    this.#lastTookMs = performance.now() - startedMs;
  }
}

interface WaitingRequest {
  /** Whether the caller has disconnected. */
  isGone(): boolean;
  work(): void;
}

/**
 * Checks that arrived while the event loop was overloaded. Each waits until the sockets have been read once more. By then
 * a proxy that gave up is known to have disconnected, and its check costs no work.
 */
export class Backlog {
  readonly #onAbandoned: () => void;
  /** The sockets have not been read since these arrived. */
  #arrived: WaitingRequest[] = [];
  #ready: WaitingRequest[] = [];
  #isScheduled = false;

  constructor(onAbandoned: () => void) {
    this.#onAbandoned = onAbandoned;
  }

  add(request: WaitingRequest): void {
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
