/** Keeps worker processes: starts them, replaces those that are lost, and all of them one by one when asked to. */
import type { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { Dispatcher } from './dispatcher.ts';
import { Member, WorkerFailed } from './member.ts';
import type { Outcome, Report, StoreFound } from './messages.ts';

export interface SupervisorOptions {
  readonly workers: number;
  /** How long a worker that is replaced goes on answering, milliseconds. */
  readonly drainMs: number;
  /** How long a worker may take to end after its drain, milliseconds. */
  readonly endWithinMs: number;
  readonly onLost: (worker: number, how: string) => void;
  /** The last that was heard of a worker that has ended. */
  readonly onDeparture: (last: Report | undefined) => void;
}

/** Before a lost worker is replaced; twice as long for each further one that is lost soon after. */
const FIRST_DELAY_MS = 50;
const LONGEST_DELAY_MS = 5_000;
const CALM_AFTER_MS = 60_000;
/** How long a connection waits for a worker when all are to end. */
const TAKEN_WITHIN_MS = 1_000;

export class Supervisor {
  readonly #options: SupervisorOptions;
  readonly #members = new Set<Member>();
  readonly #dispatcher = new Dispatcher();
  #isStopping = false;
  #losses = 0;

  constructor(options: SupervisorOptions) {
    this.#options = options;
  }

  /** Whether any worker takes connections. */
  get isAnswering(): boolean {
    return [...this.#members].some((member) => member.isAnswering);
  }

  /** The latest that was heard of each worker. */
  get lastReports(): Report[] {
    return [...this.#members].flatMap(({ last }) => last ?? []);
  }

  /**
   * Resolves once they answer, to how the first found its store. Rejects with WorkerFailed when one of them ends before
   * it does.
   */
  async start(): Promise<StoreFound> {
    // One alone at first: what is wrong is then said once.
    const first = await this.#hire(0);
    const others = Array.from({ length: this.#options.workers - 1 }, (_, i) => this.#hire(i + 1));
    await Promise.all(others);
    return first.ready;
  }

  /** Has a worker answer what is asked on this connection, of which nothing was read yet. */
  dispatch(port: string, connection: Socket): void {
    this.#dispatcher.dispatch(port, connection);
  }

  reload(): void {
    for (const member of this.#members) member.order({ order: 'reload' });
  }

  /**
   * Replaces each by a new one that answers already. Rejects, and keeps the rest, when a new one does not start.
   * Resolves to false when all of them are to end instead.
   */
  async replaceAll(): Promise<boolean> {
    const { drainMs, endWithinMs } = this.#options;
    for (const old of [...this.#members]) {
      // It may have been lost, and replaced, meanwhile.
      if (!this.#members.has(old)) continue;
      if (this.#isStopping) return false;
      try {
        await this.#hire(old.slot);
      } catch (error) {
        if (this.#isStopping) return false;
        throw error;
      }
      await old.stop(drainMs, endWithinMs);
    }
    return !this.#isStopping;
  }

  /** Resolves when each has reported anew, or has not within a second. */
  async hear(): Promise<void> {
    await Promise.all([...this.#members].map((member) => member.report()));
  }

  /** Has it done by one of the workers, or by the next where one hangs. Resolves to undefined when none of them does it. */
  async operate(name: string, input: unknown): Promise<Outcome | undefined> {
    for (const member of [...this.#members].filter(({ isAnswering }) => isAnswering)) {
      const outcome = await member.operate(name, input);
      if (outcome !== undefined) return outcome;
    }
    return undefined;
  }

  /** Has callers go elsewhere with their next request. */
  drain(): void {
    this.#isStopping = true;
    for (const member of this.#members) member.order({ order: 'drain' });
  }

  /** Has all of them answer what is under way, and end. No connection is dispatched after this. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    await this.#dispatcher.emptied(TAKEN_WITHIN_MS);
    const { endWithinMs } = this.#options;
    await Promise.all([...this.#members].map((member) => member.stop(0, endWithinMs)));
  }

  /** Resolves once it answers. */
  async #hire(slot: number): Promise<Member> {
    if (this.#isStopping) throw new WorkerFailed(0, 'all of them are to end');
    const member = new Member(slot);
    this.#members.add(member);
    void member.ended.then((how) => this.#onEnd(member, how));
    await member.ready;
    this.#dispatcher.add(member);
    return member;
  }

  #onEnd(member: Member, how: string): void {
    this.#members.delete(member);
    this.#options.onDeparture(member.last);
    if (!member.wasReady || member.isLeaving || this.#isStopping) return;
    this.#options.onLost(member.id, how);
    void this.#replaceLost(member.slot);
  }

  /** One that does not even start is tried again, for as long as it takes. */
  async #replaceLost(slot: number): Promise<void> {
    while (!this.#isStopping) {
      await sleep(Math.min(FIRST_DELAY_MS * 2 ** this.#losses, LONGEST_DELAY_MS));
      this.#losses++;
      setTimeout(() => this.#losses--, CALM_AFTER_MS).unref();
      try {
        await this.#hire(slot);
        return;
      } catch {
        // It has said why itself.
      }
    }
  }
}
