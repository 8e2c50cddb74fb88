/** Requests that wait for Redis, each until its deadline. A Redis that hangs must not fill this process's memory. */
import { StoreError } from '../../core/store.ts';

export class InFlight {
  readonly #most: number;
  #count = 0;

  constructor(most: number) {
    this.#most = most;
  }

  /** Throws a StoreError when too many wait already. */
  enter(): void {
    if (this.#count >= this.#most) {
      throw new StoreError('overloaded', `${this.#most} requests already wait for Redis`);
    }
    this.#count++;
  }

  leave(requests: number): void {
    this.#count -= requests;
  }
}
