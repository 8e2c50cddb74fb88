import cluster, { type Worker } from 'node:cluster';
import type { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { StoreAtStart } from '../backend.ts';
import {
  type OperationOutcome,
  type SupervisorMessage,
  WorkerFailed,
  type WorkerMessage,
  type WorkerReport,
} from './messages.ts';

export type ForkedWorker = Pick<Worker, 'id' | 'process' | 'isConnected' | 'send' | 'on' | 'once'>;

/** How long a worker may take to be ready. One that hangs would block the replacement of others. */
const READY_WITHIN_MS = 30_000;
const REPORT_WITHIN_MS = 1_000;
/** The longest operation waits two seconds for Redis. */
const OPERATE_WITHIN_MS = 3_000;
/** A worker that does not hang takes a connection within this time. */
const TAKE_WITHIN_MS = 2_000;
/** After this time, the connection goes to another worker. */
const GIVE_UP_TAKE_MS = 3_000;
/** A worker that has not answered so many pings is not responding. */
const MOST_PINGS_MISSED = 3;
/** A worker that does not hang begins an operation within this time. */
const BEGIN_WITHIN_MS = 500;

/** The slot is one of as many numbers from 0 as there are workers. A replacement has the slot of the worker that ended. */
export function forkWorker(slot: number): WorkerHandle {
  return new WorkerHandle(slot, cluster.fork({ HEADGATE_WORKER: String(slot) }));
}

export class WorkerHandle {
  readonly slot: number;
  /** Resolves to the state of its store. Rejects with WorkerFailed if the worker ends before that. */
  readonly ready: Promise<StoreAtStart>;
  /** Resolves to how it ended, once no more messages can come. */
  readonly ended: Promise<string>;
  readonly #worker: ForkedWorker;
  #isReady = false;
  #isLeaving = false;
  #hasEnded = false;
  #lastReport: WorkerReport | undefined;
  #reporting: Promise<void> | undefined;
  #onReport = () => {};
  #connections = 0;
  #onConnection: (isTaken: boolean) => void = () => {};
  #pingsMissed = 0;
  #onPong: () => void = () => {};
  #operations = 0;
  readonly #operating = new Map<number, (outcome: OperationOutcome | undefined) => void>();

  constructor(slot: number, worker: ForkedWorker) {
    this.slot = slot;
    this.#worker = worker;
    const ready = Promise.withResolvers<StoreAtStart>();
    this.ready = ready.promise;
    worker.on('message', (message: WorkerMessage) => this.#onMessage(message, ready.resolve));
    this.ended = exitOf(worker).then(({ exitCode, how }) => {
      this.#hasEnded = true;
      ready.reject(new WorkerFailed(exitCode, how));
      this.#onConnection(false);
      for (const resolve of this.#operating.values()) resolve(undefined);
      return how;
    });
    const timeout = setTimeout(() => this.kill(), READY_WITHIN_MS);
    this.ready.catch(() => {}).finally(() => clearTimeout(timeout));
  }

  get id(): number {
    return this.#worker.id;
  }

  get isAnswering(): boolean {
    return this.isServing && this.isResponding;
  }

  /** It takes connections, or would take them if it responded. */
  get isServing(): boolean {
    return this.#isReady && !this.#isLeaving && !this.#hasEnded;
  }

  get isResponding(): boolean {
    return this.#pingsMissed < MOST_PINGS_MISSED;
  }

  get pingsMissed(): number {
    return this.#pingsMissed;
  }

  get isLeaving(): boolean {
    return this.#isLeaving;
  }

  get wasReady(): boolean {
    return this.#isReady;
  }

  get lastReport(): WorkerReport | undefined {
    return this.#lastReport;
  }

  report(): Promise<void> {
    if (!this.#isReady || this.#hasEnded) return Promise.resolve();
    this.#reporting ??= this.#requestReport().finally(() => {
      this.#reporting = undefined;
    });
    return this.#reporting;
  }

  /** Resolves to undefined if there is no outcome in time. Most likely the worker has not begun the operation. */
  async operate(name: string, input: unknown): Promise<OperationOutcome | undefined> {
    if (this.#hasEnded) return undefined;
    const id = ++this.#operations;
    const outcome = new Promise<OperationOutcome | undefined>((resolve) =>
      this.#operating.set(id, resolve),
    );
    this.send({ type: 'operate', id, name, input, beforeMs: Date.now() + BEGIN_WITHIN_MS });
    const timeout = sleep(OPERATE_WITHIN_MS, undefined, { ref: false });
    try {
      return await Promise.race([outcome, timeout]);
    } finally {
      this.#operating.delete(id);
    }
  }

  send(message: SupervisorMessage): void {
    if (this.#worker.isConnected()) this.#worker.send(message);
  }

  answersPings(onPong: () => void): void {
    this.#onPong = onPong;
  }

  /** Call this regularly. Pings are counted, not timed: all processes of a machine may have been frozen together. */
  ping(): void {
    this.#pingsMissed++;
    this.send({ type: 'ping' });
  }

  /** One connection at a time. Resolves to false if the worker ends before it has taken it, is closing, or hangs. */
  async take(port: string, connection: Socket): Promise<boolean> {
    const { promise, resolve } = Promise.withResolvers<boolean>();
    this.#onConnection = resolve;
    const id = ++this.#connections;
    if (this.#hasEnded) resolve(false);
    if (this.#worker.isConnected()) {
      const beforeMs = Date.now() + TAKE_WITHIN_MS;
      // The supervisor keeps its handle until the worker has the connection.
      const message: SupervisorMessage = { type: 'connection', id, port, beforeMs };
      this.#worker.send(message, connection, { keepOpen: true });
    }
    const timeout = setTimeout(() => resolve(false), GIVE_UP_TAKE_MS);
    const isTaken = await promise;
    clearTimeout(timeout);
    return isTaken;
  }

  /** Lets the worker drain, and kills it if it needs longer than `withinMs` after that. Resolves when it has ended. */
  async stop(drainMs: number, withinMs: number): Promise<void> {
    this.#isLeaving = true;
    this.send({ type: 'stop', drainMs });
    const timeout = setTimeout(() => this.kill(), drainMs + withinMs);
    await this.ended;
    clearTimeout(timeout);
  }

  kill(): void {
    this.#worker.process.kill('SIGKILL');
  }

  #onMessage(message: WorkerMessage, onReady: (store: StoreAtStart) => void): void {
    switch (message.type) {
      case 'ready':
        this.#isReady = true;
        onReady(message.store);
        break;
      case 'connection':
        // An answer to an earlier one comes from a worker that hung.
        if (message.id === this.#connections) this.#onConnection(message.isTaken);
        break;
      case 'pong':
        this.#pingsMissed = 0;
        this.#onPong();
        break;
      case 'operated':
        this.#operating.get(message.id)?.(message.outcome);
        break;
      case 'report':
        this.#lastReport = message.report;
        this.#onReport();
        break;
    }
  }

  async #requestReport(): Promise<void> {
    const reported = new Promise<void>((resolve) => {
      this.#onReport = resolve;
    });
    this.send({ type: 'report' });
    await Promise.race([reported, sleep(REPORT_WITHIN_MS, undefined, { ref: false })]);
  }
}

/** Resolves once no more messages of the worker can come. */
function exitOf(worker: ForkedWorker): Promise<{ exitCode: number; how: string }> {
  return new Promise((resolve) => {
    worker.once('exit', (code, signal) => {
      const end = () => resolve({ exitCode: code ?? 1, how: signal ?? `exit code ${code}` });
      // Its last messages may arrive after the exit.
      if (worker.isConnected()) worker.once('disconnect', end);
      else end();
    });
    worker.on('error', (error) => {
      // It could not be started. Any other error comes from its channel, and the exit follows.
      if (worker.process.pid === undefined) resolve({ exitCode: 1, how: error.message });
    });
  });
}
