/**
 * Hands connections to the workers in turn. Unlike node:cluster, it loses no connection with a worker that ends before
 * it has taken it, and the port is closed before the workers are.
 */
import type { Socket } from 'node:net';
import type { WorkerHandle } from './worker-handle.ts';

export type ConnectionTaker = Pick<WorkerHandle, 'isAnswering' | 'take'>;

interface WaitingConnection {
  readonly port: string;
  readonly connection: Socket;
}

/** While no worker takes connections, the oldest ones beyond this number are closed. */
const MOST_WAITING = 1_024;

export class Dispatcher {
  readonly #workers = new Set<ConnectionTaker>();
  readonly #free: ConnectionTaker[] = [];
  readonly #waiting: WaitingConnection[] = [];
  #handovers = 0;
  #onIdle: () => void = () => {};

  /** From now on, this worker gets connections, until it does not take one or does not answer any more. */
  add(worker: ConnectionTaker): void {
    if (this.#workers.has(worker)) return;
    this.#workers.add(worker);
    this.#free.push(worker);
    this.#handOutWaiting();
  }

  dispatch(port: string, connection: Socket): void {
    // Otherwise Node counts the connection in every worker.
    Object.assign(connection, { server: null });
    if (this.#waiting.push({ port, connection }) > MOST_WAITING) {
      this.#waiting.shift()?.connection.destroy();
    }
    this.#handOutWaiting();
  }

  /** Resolves once workers have all connections. Closes those that no worker takes within so many milliseconds. */
  async emptied(withinMs: number): Promise<void> {
    if (this.#isIdle) return;
    await new Promise<void>((resolve) => {
      this.#onIdle = resolve;
      setTimeout(resolve, withinMs).unref();
    });
    for (const { connection } of this.#waiting.splice(0)) connection.destroy();
  }

  get #isIdle(): boolean {
    return this.#waiting.length === 0 && this.#handovers === 0;
  }

  #handOutWaiting(): void {
    while (this.#waiting.length > 0) {
      const worker = this.#free.shift();
      if (worker === undefined) return;
      if (worker.isAnswering)
        void this.#handOver(this.#waiting.shift() as WaitingConnection, worker);
      else this.#workers.delete(worker);
    }
    if (this.#isIdle) this.#onIdle();
  }

  async #handOver(waiting: WaitingConnection, worker: ConnectionTaker): Promise<void> {
    this.#handovers++;
    const isTaken = await worker.take(waiting.port, waiting.connection);
    this.#handovers--;
    if (isTaken) {
      waiting.connection.destroy();
      this.#free.push(worker);
    } else {
      this.#workers.delete(worker);
      this.#waiting.unshift(waiting);
    }
    this.#handOutWaiting();
  }
}
