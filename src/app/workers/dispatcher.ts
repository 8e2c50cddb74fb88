/**
 * Hands connections to the workers in turn. Unlike in Node's cluster module, no connection is lost with a worker that
 * has not taken it yet, and the port is closed before the workers.
 */
import type { Socket } from 'node:net';
import type { Member } from './member.ts';

interface Handover {
  readonly port: string;
  readonly connection: Socket;
}

/** While no worker takes connections, the oldest of more than these are closed. */
const MOST_WAITING = 1_024;

export class Dispatcher {
  /** In the order of their turns. */
  readonly #free: Member[] = [];
  readonly #waiting: Handover[] = [];
  #underWay = 0;
  #onIdle: () => void = () => {};

  /** Has this worker take part. */
  add(member: Member): void {
    this.#free.push(member);
    this.#next();
  }

  dispatch(port: string, connection: Socket): void {
    // It would have Node keep count of it in every worker.
    Object.assign(connection, { server: null });
    if (this.#waiting.push({ port, connection }) > MOST_WAITING) {
      this.#waiting.shift()?.connection.destroy();
    }
    this.#next();
  }

  /** Resolves once a worker has each connection. Those that none takes in so many milliseconds are closed. */
  async emptied(withinMs: number): Promise<void> {
    if (this.#isIdle) return;
    const idle = new Promise<void>((resolve) => {
      this.#onIdle = resolve;
      setTimeout(resolve, withinMs).unref();
    });
    await idle;
    for (const { connection } of this.#waiting.splice(0)) connection.destroy();
  }

  get #isIdle(): boolean {
    return this.#waiting.length === 0 && this.#underWay === 0;
  }

  #next(): void {
    while (this.#waiting.length > 0) {
      const member = this.#free.shift();
      if (member === undefined) return;
      if (member.isAnswering) void this.#hand(this.#waiting.shift() as Handover, member);
    }
    if (this.#isIdle) this.#onIdle();
  }

  async #hand(handover: Handover, member: Member): Promise<void> {
    this.#underWay++;
    const isTaken = await member.take(handover.port, handover.connection);
    this.#underWay--;
    if (isTaken) {
      handover.connection.destroy();
      this.#free.push(member);
    } else {
      this.#waiting.unshift(handover);
    }
    this.#next();
  }
}
