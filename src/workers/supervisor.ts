/**
 * Keeps worker processes: starts them, replaces those that are lost, and all of them one by one when asked to. Node's
 * cluster module hands the connections out to them in turn.
 */
import cluster, { type Worker } from 'node:cluster';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import type { News, Order, Report } from './messages.ts';

export interface SupervisorOptions {
  readonly workers: number;
  /** How long a worker that is replaced goes on answering, milliseconds. */
  readonly drainMs: number;
  readonly onLost: (worker: number, how: string) => void;
  /** The last that was heard of a worker that has ended. */
  readonly onDeparture: (last: Report | undefined) => void;
}

/** A worker did not come to answer. It has said why itself. */
export class WorkerFailed extends Error {
  override readonly name = 'WorkerFailed';
  readonly code = 'HEADGATE_WORKER_FAILED';
  readonly exitCode: number;

  constructor(exitCode: number) {
    super(`a worker ended with ${exitCode} before it answered`);
    this.exitCode = exitCode;
  }
}

interface Member {
  readonly worker: Worker;
  readonly ended: Promise<unknown>;
  check: Listening | undefined;
  last: Report | undefined;
  isLeaving: boolean;
  onReport: () => void;
}

type Listening = Extract<News, { news: 'listening' }>['check'];

const REPORT_WITHIN_MS = 1_000;
/** Beyond the drain. */
const END_WITHIN_MS = 5_000;
/** Before a lost worker is replaced; twice as long for each further one that is lost soon after. */
const FIRST_DELAY_MS = 50;
const LONGEST_DELAY_MS = 5_000;
const CALM_AFTER_MS = 60_000;

export class Supervisor {
  readonly #options: SupervisorOptions;
  readonly #members = new Set<Member>();
  #isStopping = false;
  #losses = 0;
  #rolling: Promise<void> | undefined;

  constructor(options: SupervisorOptions) {
    this.#options = options;
  }

  /** Resolves to where they answer. Rejects with WorkerFailed when one of them ends before it does. */
  async start(): Promise<Listening> {
    // One alone at first: what is wrong is then said once.
    const first = await this.#hire();
    await Promise.all(Array.from({ length: this.#options.workers - 1 }, () => this.#hire()));
    return first.check as Listening;
  }

  reload(): void {
    for (const { worker } of this.#members) give(worker, { order: 'reload' });
  }

  /** Replaces each by a new one that answers already. Rejects, and keeps the rest, when a new one does not start. */
  replaceAll(): Promise<void> {
    this.#rolling ??= this.#replaceOneByOne([...this.#members]).finally(() => {
      this.#rolling = undefined;
    });
    return this.#rolling;
  }

  /** Of each worker the latest that can be had within a second. */
  async reports(): Promise<Report[]> {
    const members = [...this.#members];
    const asked = members.map(
      (member) =>
        new Promise<void>((resolve) => {
          member.onReport = resolve;
          give(member.worker, { order: 'report' });
        }),
    );
    await Promise.race([Promise.all(asked), sleep(REPORT_WITHIN_MS, undefined, { ref: false })]);
    return members.flatMap(({ last }) => last ?? []);
  }

  async stop(drainMs: number): Promise<void> {
    this.#isStopping = true;
    await Promise.all([...this.#members].map((member) => dismiss(member, drainMs)));
  }

  async #replaceOneByOne(members: readonly Member[]): Promise<void> {
    for (const old of members) {
      if (this.#isStopping) return;
      // It may have been lost, and replaced, meanwhile.
      if (!this.#members.has(old)) continue;
      await this.#hire();
      await dismiss(old, this.#options.drainMs);
    }
  }

  /** Resolves once it answers proxies. */
  #hire(): Promise<Member> {
    if (this.#isStopping) return Promise.reject(new WorkerFailed(0));
    const worker = cluster.fork();
    return new Promise((resolve, reject) => {
      // The last that it says may arrive after it has ended.
      const ended = Promise.all([once(worker, 'exit'), once(worker, 'disconnect')]);
      const member: Member = {
        worker,
        ended,
        check: undefined,
        last: undefined,
        isLeaving: false,
        onReport: () => {},
      };
      this.#members.add(member);
      worker.on('message', (message: News) => {
        if (message.news === 'listening') {
          member.check = message.check;
          resolve(member);
        } else {
          member.last = message.report;
          member.onReport();
        }
      });
      void ended.then(([[code, signal]]) => {
        this.#members.delete(member);
        this.#options.onDeparture(member.last);
        if (member.check === undefined) reject(new WorkerFailed(code ?? 1));
        else if (!member.isLeaving && !this.#isStopping) {
          this.#options.onLost(worker.id, signal ?? `exit code ${code}`);
          void this.#replaceLost();
        }
      });
    });
  }

  async #replaceLost(): Promise<void> {
    const delayMs = Math.min(FIRST_DELAY_MS * 2 ** this.#losses, LONGEST_DELAY_MS);
    this.#losses++;
    setTimeout(() => this.#losses--, CALM_AFTER_MS).unref();
    await sleep(delayMs);
    if (this.#isStopping) return;
    // One that does not even start is tried again, for as long as it takes.
    await this.#hire().catch(() => this.#replaceLost());
  }
}

function give(worker: Worker, order: Order): void {
  if (worker.isConnected()) worker.send(order);
}

async function dismiss(member: Member, drainMs: number): Promise<void> {
  const { worker, ended } = member;
  member.isLeaving = true;
  give(worker, { order: 'stop', drainMs });
  const kill = setTimeout(() => worker.process.kill('SIGKILL'), drainMs + END_WITHIN_MS);
  await ended;
  clearTimeout(kill);
}
