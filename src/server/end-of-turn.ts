/**
 * Puts things off to the end of a turn of the event loop, when all that had arrived is read. An answer that is written
 * between two questions wakes whoever reads it, on this machine or at the network card, and for each of them the
 * processor changes hands. Written together, a decision in memory took 26 us where it took 37 (by hand, wrk beside it).
 */
export class EndOfTurn {
  #jobs: (() => void)[] = [];

  /** The job must not throw: others come after it. */
  add(job: () => void): void {
    if (this.#jobs.push(job) === 1) setImmediate(() => this.#run());
  }

  #run(): void {
    const jobs = this.#jobs;
    this.#jobs = [];
    for (const job of jobs) job();
  }
}
