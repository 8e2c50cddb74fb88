/** Runs a replay in this thread, or divides its clients among several. The result is the same. */
import { Worker } from 'node:worker_threads';
import type { LogChunk } from '../reading/line-cutter.ts';
import { addResults } from './result.ts';
import {
  type ChunkDone,
  ReplayThread,
  THREAD_FILE,
  type ThreadMessage,
  type ThreadOptions,
  type ThreadResult,
} from './thread.ts';

export interface ChunkEvents {
  readonly onLines: (lines: number) => void;
  /** Called with the lines that were not understood: one character per byte, each with a line break. */
  readonly onMisread: ((lines: string) => Promise<void>) | undefined;
}

/** Chunks that wait in front of each worker, so that it never idles, and memory stays bounded. */
const MAX_WAITING = 4;

export class ReplayThreads {
  readonly #threads: readonly Pick<ReplayThread, 'add' | 'finish' | 'end'>[];
  readonly #events: ChunkEvents;
  readonly #waiting: Promise<unknown>[] = [];

  constructor(options: Omit<ThreadOptions, 'thread'>, events: ChunkEvents) {
    const { threads } = options;
    this.#events = events;
    this.#threads =
      threads === 1
        ? [new ReplayThread({ ...options, thread: 0 })]
        : Array.from({ length: threads }, (_, thread) => new RemoteThread({ ...options, thread }));
  }

  /** Resolves when the next chunk may follow. Every thread sees all lines, so the first one reports them. */
  async add(chunk: LogChunk): Promise<void> {
    const [first, ...others] = this.#threads.map((each) => each.add(chunk));
    this.#waiting.push(Promise.all([first?.then((done) => this.#report(done)), ...others]));
    const maxWaiting = others.length === 0 ? 0 : MAX_WAITING;
    if (this.#waiting.length > maxWaiting) await this.#waiting.shift();
  }

  async finish(): Promise<ThreadResult> {
    await Promise.all(this.#waiting);
    const all = await Promise.all(this.#threads.map((each) => each.finish()));
    const result = addResults(all.map((each) => each.result));
    return { result, lines: (all[0] as ThreadResult).lines };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#threads.map((each) => each.end()));
  }

  async #report({ lines, misread }: ChunkDone): Promise<void> {
    this.#events.onLines(lines);
    if (misread !== '') await this.#events.onMisread?.(misread);
  }
}

/** A thread in a worker. It replies in the order of the messages. */
class RemoteThread {
  readonly #worker: Worker;
  readonly #pending: PromiseWithResolvers<unknown>[] = [];
  #failure: Error | undefined;

  constructor(options: ThreadOptions) {
    this.#worker = new Worker(THREAD_FILE, { workerData: { replay: options } });
    this.#worker.on('message', (reply) => this.#pending.shift()?.resolve(reply));
    this.#worker.on('error', (error) => this.#fail(error));
    this.#worker.on('exit', () => this.#fail(new Error('a thread of the replay ended early')));
  }

  add(chunk: LogChunk): Promise<ChunkDone> {
    // A buffer that is transferred is gone here, and every thread needs the chunk.
    const bytes = new Uint8Array(chunk.bytes);
    return this.#send({ chunk: { ...chunk, bytes } }, [bytes.buffer]) as Promise<ChunkDone>;
  }

  finish(): Promise<ThreadResult> {
    return this.#send({ chunk: undefined }, []) as Promise<ThreadResult>;
  }

  async end(): Promise<void> {
    await this.#worker.terminate();
  }

  #send(message: ThreadMessage, transferred: ArrayBuffer[]): Promise<unknown> {
    const reply = Promise.withResolvers<unknown>();
    if (this.#failure !== undefined) reply.reject(this.#failure);
    this.#pending.push(reply);
    this.#worker.postMessage(message, transferred);
    return reply.promise;
  }

  /** Unhandled rejections would end the process; the next reply that is awaited rejects. */
  #fail(error: Error): void {
    this.#failure ??= error;
    for (const reply of this.#pending.splice(0)) {
      reply.promise.catch(() => {});
      reply.reject(this.#failure);
    }
  }
}
