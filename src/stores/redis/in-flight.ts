/** Requests that wait for Redis, each until its deadline. A Redis that hangs must not fill this process's memory. */
import { StoreError } from '../../core/store.ts';

export class InFlight {
  readonly #most: number;
  /** One for all: making an error, with its stack, costs more than taking a request. */
  readonly #tooMany: StoreError;
  #count = 0;

  constructor(most: number) {
    this.#most = most;
    this.#tooMany = new StoreError('overloaded', `${most} requests already wait for Redis`);
  }

  /** Throws a StoreError when too many wait already. */
  enter(): void {
    if (this.#count >= this.#most) throw this.#tooMany;
    this.#count++;
  }

  leave(requests: number): void {
    this.#count -= requests;
  }
}
