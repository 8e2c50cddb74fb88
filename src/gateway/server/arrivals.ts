/** When requests are answered: at once or, if the event loop is late, after the sockets have been read once more. */
import { Backlog } from './backlog.ts';
import { Turn } from './turn.ts';

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

  /** The job must not throw, because others run after it. */
  atEndOfTurn(job: () => void): void {
    this.#turn.atEnd(job);
  }
}
