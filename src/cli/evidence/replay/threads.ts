/** Runs a replay in this thread, or divides its clients among several. The result is the same. */
import { Worker } from 'node:worker_threads';
import type { MisreadLine } from '../reading/entry-stream.ts';
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

export interface ReplayThreads {
  /** Resolves when the next chunk may follow. */
  add(chunk: LogChunk): Promise<void>;
  finish(): Promise<ThreadResult>;
  /** Ends the threads, whatever they do. */
  [Symbol.asyncDispose](): Promise<void>;
}

export interface ChunkEvents {
  /** Lines read so far. */
  readonly onLines: (lines: number) => void;
  readonly onMisread: (lines: readonly MisreadLine[]) => Promise<void>;
}

type SharedOptions = Omit<ThreadOptions, 'thread' | 'threads'>;

export function startThreads(
  options: SharedOptions,
  threads: number,
  events: ChunkEvents,
): ReplayThreads {
  return threads === 1
    ? inThisThread(new ReplayThread({ ...options, thread: 0, threads }), events)
    : inThreads(
        Array.from({ length: threads }, (_, thread) => new Remote({ ...options, thread, threads })),
        events,
      );
}

function inThisThread(thread: ReplayThread, events: ChunkEvents): ReplayThreads {
  return {
    add: async (chunk) => report(await thread.add(chunk), events),
    finish: () => thread.finish(),
    [Symbol.asyncDispose]: async () => {},
  };
}

async function report({ lines, misread }: ChunkDone, { onLines, onMisread }: ChunkEvents) {
  onLines(lines);
  if (misread.length > 0) await onMisread(misread);
}

/** Chunks that wait in front of each thread, so that it never idles, and memory stays bounded. */
const MAX_WAITING = 4;

/** Every thread sees all lines, so the first one tells of them. */
function inThreads(remotes: readonly Remote[], events: ChunkEvents): ReplayThreads {
  const waiting: Promise<unknown>[] = [];
  return {
    async add(chunk) {
      const [first, ...others] = remotes.map((remote) => remote.ask<ChunkDone>(chunk));
      waiting.push(Promise.all([first?.then((done) => report(done, events)), ...others]));
      if (waiting.length > MAX_WAITING) await waiting.shift();
    },
    async finish() {
      await Promise.all(waiting);
      const all = await Promise.all(remotes.map((each) => each.ask<ThreadResult>(undefined)));
      const result = addResults(all.map((each) => each.result));
      return { result, lines: (all[0] as ThreadResult).lines };
    },
    async [Symbol.asyncDispose]() {
      await Promise.all(remotes.map((remote) => remote.end()));
    },
  };
}

/** A thread elsewhere. It answers in the order of the questions. */
class Remote {
  readonly #worker: Worker;
  readonly #asked: PromiseWithResolvers<unknown>[] = [];
  #failure: Error | undefined;

  constructor(options: ThreadOptions) {
    this.#worker = new Worker(THREAD_FILE, { workerData: { replay: options } });
    this.#worker.on('message', (answer) => this.#asked.shift()?.resolve(answer));
    this.#worker.on('error', (error) => this.#fail(error));
    this.#worker.on('exit', () => this.#fail(new Error('a thread of the replay ended early')));
  }

  ask<T>(chunk: LogChunk | undefined): Promise<T> {
    const asked = Promise.withResolvers<unknown>();
    if (this.#failure !== undefined) asked.reject(this.#failure);
    this.#asked.push(asked);
    // A chunk is a part of a larger buffer, which would be copied as a whole.
    const bytes = chunk && new Uint8Array(chunk.bytes);
    const message: ThreadMessage = { chunk: chunk && bytes && { ...chunk, bytes } };
    this.#worker.postMessage(message, bytes === undefined ? [] : [bytes.buffer]);
    return asked.promise as Promise<T>;
  }

  async end(): Promise<void> {
    await this.#worker.terminate();
  }

  /** Unhandled rejections would end the process; the next answer that is awaited tells. */
  #fail(error: Error): void {
    this.#failure ??= error;
    for (const asked of this.#asked.splice(0)) {
      asked.promise.catch(() => {});
      asked.reject(this.#failure);
    }
  }
}
