/** Bounds the number of requests that wait for Redis, so that a Redis that hangs cannot fill this process's memory. */
import { StoreError } from '../../core/counting/store.ts';

export class InFlight {
  readonly #most: number;
  /** Created once: creating an error with its stack costs more than taking a request. */
  readonly #tooMany: StoreError;
  #count = 0;

  constructor(most: number) {
    this.#most = most;
    this.#tooMany = new StoreError('overloaded', `${most} requests already wait for Redis`);
  }

  /** Throws a StoreError (`overloaded`) if too many requests are already waiting. */
  enter(): void {
    if (this.#count >= this.#most) throw this.#tooMany;
    this.#count++;
  }

  leave(requests: number): void {
    this.#count -= requests;
  }
}
