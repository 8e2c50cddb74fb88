/**
 * Keeps worker processes: starts them, replaces those that are lost, and all of them one by one when asked to. Node's
 * cluster module hands the connections out to them in turn.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { Member, WorkerFailed } from './member.ts';
import type { Outcome, Place, Report } from './messages.ts';

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

export class Supervisor {
  readonly #options: SupervisorOptions;
  readonly #members = new Set<Member>();
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

  /** Resolves to where they answer. Rejects with WorkerFailed when one of them ends before it does. */
  async start(): Promise<Place> {
    // One alone at first: what is wrong is then said once.
    const { listening } = await this.#hire(0);
    const others = Array.from({ length: this.#options.workers - 1 }, (_, i) => this.#hire(i + 1));
    await Promise.all(others);
    return listening;
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

  async stop(drainMs: number): Promise<void> {
    this.#isStopping = true;
    const { endWithinMs } = this.#options;
    await Promise.all([...this.#members].map((member) => member.stop(drainMs, endWithinMs)));
  }

  /** Resolves once it answers proxies. */
  async #hire(slot: number): Promise<Member> {
    if (this.#isStopping) throw new WorkerFailed(0, 'all of them are to end');
    const member = new Member(slot);
    this.#members.add(member);
    void member.ended.then((how) => this.#onEnd(member, how));
    await member.listening;
    return member;
  }

  #onEnd(member: Member, how: string): void {
    this.#members.delete(member);
    this.#options.onDeparture(member.last);
    if (!member.wasListening || member.isLeaving || this.#isStopping) return;
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
