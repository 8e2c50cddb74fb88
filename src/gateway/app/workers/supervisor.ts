/** Keeps worker processes running: starts them, replaces lost ones, and replaces all of them one by one on request. */
import type { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { StoreAtStart } from '../backend.ts';
import { Dispatcher } from './dispatcher.ts';
import { type OperationOutcome, WorkerFailed, type WorkerReport } from './messages.ts';
import { forkWorker, type WorkerHandle } from './worker-handle.ts';

export interface SupervisorOptions {
  readonly workers: number;
  /** How long a worker that is replaced keeps answering. */
  readonly drainMs: number;
  /** How long a worker may take to end after its drain. */
  readonly endWithinMs: number;
  readonly onLost: (worker: number, how: string) => void;
  readonly onUnresponsive: (worker: number) => void;
  readonly onResponding: (worker: number) => void;
  readonly onEnded: (lastReport: WorkerReport | undefined) => void;
  /** Starts the worker of a slot. Default: a process of node:cluster. */
  readonly startWorker?: (slot: number) => WorkerHandle;
}

/** The delay before a lost worker is replaced. It doubles with each worker that is lost within a minute. */
const FIRST_DELAY_MS = 50;
const LONGEST_DELAY_MS = 5_000;
const LOSS_COUNTS_FOR_MS = 60_000;
const PING_EVERY_MS = 1_000;
/** A worker that has not answered so many pings is replaced. */
const PINGS_OF_LOST_WORKER = 15;
/** How long a connection may wait for a worker when all workers stop. */
const TAKEN_WITHIN_MS = 1_000;

export class Supervisor {
  readonly #options: SupervisorOptions;
  readonly #workers = new Set<WorkerHandle>();
  readonly #dispatcher = new Dispatcher();
  readonly #unresponsive = new Set<WorkerHandle>();
  #pings: NodeJS.Timeout | undefined;
  #isStopping = false;
  #losses = 0;

  constructor(options: SupervisorOptions) {
    this.#options = options;
  }

  get size(): number {
    return this.#options.workers;
  }

  get isAnswering(): boolean {
    return [...this.#workers].some((worker) => worker.isAnswering);
  }

  /** The numbers of the workers that should answer, and hang. */
  get unresponsive(): number[] {
    return [...this.#unresponsive].map(({ id }) => id);
  }

  get lastReports(): WorkerReport[] {
    return [...this.#workers].flatMap(({ lastReport }) => lastReport ?? []);
  }

  /** Resolves to the state of the store for the first worker. Rejects with WorkerFailed if one ends before it answers. */
  async start(): Promise<StoreAtStart> {
    this.#pings = setInterval(() => this.#ping(), PING_EVERY_MS).unref();
    // The first starts alone, so that a mistake in the settings is printed once.
    const first = await this.#startWorker(0);
    const others = Array.from({ length: this.size - 1 }, (_, i) => this.#startWorker(i + 1));
    await Promise.all(others);
    return first.ready;
  }

  /** Nothing may have been read from the connection. */
  dispatch(port: string, connection: Socket): void {
    this.#dispatcher.dispatch(port, connection);
  }

  reload(): void {
    for (const worker of this.#workers) worker.send({ type: 'reload' });
  }

  /** Rejects, and keeps the rest, if a new one does not start. Resolves to false if the supervisor stops meanwhile. */
  async replaceAll(): Promise<boolean> {
    const { drainMs, endWithinMs } = this.#options;
    for (const old of [...this.#workers]) {
      // It may have ended and been replaced meanwhile.
      if (!this.#workers.has(old)) continue;
      if (this.#isStopping) return false;
      try {
        await this.#startWorker(old.slot);
      } catch (error) {
        if (this.#isStopping) return false;
        throw error;
      }
      await old.stop(drainMs, endWithinMs);
    }
    return !this.#isStopping;
  }

  /** Waits a second at most. */
  async collectReports(): Promise<void> {
    await Promise.all([...this.#workers].map((worker) => worker.report()));
  }

  /** Runs an operation in one worker, or in the next if that one hangs. Resolves to undefined if no worker runs it. */
  async operate(name: string, input: unknown): Promise<OperationOutcome | undefined> {
    for (const worker of [...this.#workers].filter(({ isAnswering }) => isAnswering)) {
      const outcome = await worker.operate(name, input);
      if (outcome !== undefined) return outcome;
    }
    return undefined;
  }

  drain(): void {
    this.#isStopping = true;
    for (const worker of this.#workers) worker.send({ type: 'drain' });
  }

  /** Lets all workers answer the checks under way, and end. Dispatch no connection after this. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    clearInterval(this.#pings);
    await this.#dispatcher.emptied(TAKEN_WITHIN_MS);
    const { endWithinMs } = this.#options;
    await Promise.all([...this.#workers].map((worker) => worker.stop(0, endWithinMs)));
  }

  kill(): void {
    for (const worker of this.#workers) worker.kill();
  }

  async #startWorker(slot: number): Promise<WorkerHandle> {
    if (this.#isStopping) throw new WorkerFailed(0, 'the supervisor is stopping');
    const { startWorker = forkWorker } = this.#options;
    const worker = startWorker(slot);
    this.#workers.add(worker);
    void worker.ended.then((how) => this.#onEnd(worker, how));
    await worker.ready;
    this.#dispatcher.add(worker);
    worker.answersPings(() => this.#onPong(worker));
    return worker;
  }

  #ping(): void {
    for (const worker of [...this.#workers].filter(({ isServing }) => isServing)) {
      if (!worker.isResponding && !this.#unresponsive.has(worker)) {
        this.#unresponsive.add(worker);
        this.#options.onUnresponsive(worker.id);
      }
      if (worker.pingsMissed >= PINGS_OF_LOST_WORKER) worker.kill();
      else worker.ping();
    }
  }

  #onPong(worker: WorkerHandle): void {
    if (this.#unresponsive.delete(worker)) this.#options.onResponding(worker.id);
    // It may have hung when it should have taken a connection.
    this.#dispatcher.add(worker);
  }

  #onEnd(worker: WorkerHandle, how: string): void {
    this.#workers.delete(worker);
    this.#unresponsive.delete(worker);
    this.#options.onEnded(worker.lastReport);
    if (!worker.wasReady || worker.isLeaving || this.#isStopping) return;
    this.#options.onLost(worker.id, how);
    void this.#replaceLost(worker.slot);
  }

  async #replaceLost(slot: number): Promise<void> {
    while (!this.#isStopping) {
      await sleep(Math.min(FIRST_DELAY_MS * 2 ** this.#losses, LONGEST_DELAY_MS));
      this.#losses++;
      setTimeout(() => this.#losses--, LOSS_COUNTS_FOR_MS).unref();
      try {
        await this.#startWorker(slot);
        return;
      } catch {
        // The worker itself has printed why.
      }
    }
  }
}
