/** One worker, as its supervisor sees it. */
import cluster, { type Worker } from 'node:cluster';
import type { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { News, Order, Outcome, Report, StoreFound } from './messages.ts';

/** A worker did not come to answer. It has said why itself, if it could. */
export class WorkerFailed extends Error {
  override readonly name = 'WorkerFailed';
  readonly code = 'HEADGATE_WORKER_FAILED';
  readonly exitCode: number;

  constructor(exitCode: number, how = `exit code ${exitCode}`) {
    super(`a worker ended before it answered: ${how}`);
    this.exitCode = exitCode;
  }
}

/** How long a worker may take to be ready; one that hangs would keep others from being replaced. */
const READY_WITHIN_MS = 30_000;
const REPORT_WITHIN_MS = 1_000;
/** The longest of them waits for Redis for two seconds. */
const OPERATE_WITHIN_MS = 3_000;
/** How soon a worker that does not hang has begun with it. */
const BEGIN_WITHIN_MS = 500;

export class Member {
  /** From 0, of as many as there are workers; a replacement has that of the one it replaces. */
  readonly slot: number;
  /** Resolves to how it found its store. Rejects with WorkerFailed when it ends before. */
  readonly ready: Promise<StoreFound>;
  /** Resolves to how it ended, once nothing more will be heard of it. */
  readonly ended: Promise<string>;
  readonly #worker: Worker;
  #isReady = false;
  #isLeaving = false;
  #hasEnded = false;
  #last: Report | undefined;
  #waiting: (() => void)[] = [];
  #reporting: Promise<void> | undefined;
  #onConnection: (isTaken: boolean) => void = () => {};
  #operations = 0;
  readonly #operating = new Map<number, (outcome: Outcome) => void>();

  constructor(slot: number) {
    this.slot = slot;
    const worker = cluster.fork({ HEADGATE_WORKER: String(slot) });
    this.#worker = worker;
    const { promise: ready, resolve, reject } = Promise.withResolvers<StoreFound>();
    this.ready = ready;
    worker.on('message', (message: News) => {
      if (message.news === 'ready') {
        this.#isReady = true;
        resolve(message.store);
      } else if (message.news === 'connection') {
        this.#onConnection(message.isTaken);
      } else if (message.news === 'operated') {
        this.#operating.get(message.id)?.(message.outcome);
      } else {
        this.#last = message.report;
        for (const heard of this.#waiting.splice(0)) heard();
      }
    });
    this.ended = new Promise((ended) => {
      const end = (exitCode: number, how: string) => {
        this.#hasEnded = true;
        reject(new WorkerFailed(exitCode, how));
        this.#onConnection(false);
        ended(how);
      };
      worker.once('exit', (code, signal) => {
        const conclude = () => end(code ?? 1, signal ?? `exit code ${code}`);
        // What it said last may arrive after it has ended.
        if (worker.isConnected()) worker.once('disconnect', conclude);
        else conclude();
      });
      worker.on('error', (error) => {
        // It was never there; other errors are of its channel, and its end is told.
        if (worker.process.pid === undefined) end(1, error.message);
      });
    });
    const tooLate = setTimeout(() => this.kill(), READY_WITHIN_MS);
    ready.catch(() => {}).finally(() => clearTimeout(tooLate));
  }

  get id(): number {
    return this.#worker.id;
  }

  /** It takes connections, and goes on doing so. */
  get isAnswering(): boolean {
    return this.#isReady && !this.#isLeaving && !this.#hasEnded;
  }

  get isLeaving(): boolean {
    return this.#isLeaving;
  }

  get wasReady(): boolean {
    return this.#isReady;
  }

  /** The last that was heard of it. */
  get last(): Report | undefined {
    return this.#last;
  }

  /** Resolves when it has reported, or has not within a second. */
  report(): Promise<void> {
    if (!this.#isReady || this.#hasEnded) return Promise.resolve();
    this.#reporting ??= this.#askForReport().finally(() => {
      this.#reporting = undefined;
    });
    return this.#reporting;
  }

  /** Resolves to what came of it, or to undefined when it does not say so in time: it has not begun with it, most likely. */
  async operate(name: string, input: unknown): Promise<Outcome | undefined> {
    const id = ++this.#operations;
    const heard = new Promise<Outcome>((resolve) => this.#operating.set(id, resolve));
    this.order({ order: 'operate', id, name, input, beforeMs: Date.now() + BEGIN_WITHIN_MS });
    const tooLate = sleep(OPERATE_WITHIN_MS, undefined, { ref: false });
    const ended = this.ended.then(() => undefined);
    const outcome = await Promise.race([heard, tooLate, ended]);
    this.#operating.delete(id);
    return outcome;
  }

  order(order: Order): void {
    if (this.#worker.isConnected()) this.#worker.send(order);
  }

  /** One at a time. Resolves to false if it ends before it has taken the connection, or takes no more. */
  take(port: string, connection: Socket): Promise<boolean> {
    return new Promise((resolve) => {
      this.#onConnection = resolve;
      if (this.#hasEnded) resolve(false);
      if (!this.#worker.isConnected()) return;
      // The supervisor holds it, too, until the worker has it.
      this.#worker.send({ order: 'connection', port } satisfies Order, connection, {
        keepOpen: true,
      });
    });
  }

  /** Lets it drain for so long; it is killed when it takes much longer. Resolves when it has ended. */
  async stop(drainMs: number, withinMs: number): Promise<void> {
    this.#isLeaving = true;
    this.order({ order: 'stop', drainMs });
    const tooLate = setTimeout(() => this.kill(), drainMs + withinMs);
    await this.ended;
    clearTimeout(tooLate);
  }

  kill(): void {
    this.#worker.process.kill('SIGKILL');
  }

  async #askForReport(): Promise<void> {
    const heard = new Promise<void>((resolve) => this.#waiting.push(resolve));
    this.order({ order: 'report' });
    await Promise.race([heard, sleep(REPORT_WITHIN_MS, undefined, { ref: false })]);
  }
}
