/** One thread of a replay: parses all chunks of the log, and decides the requests of its clients. */
import { parentPort, workerData } from 'node:worker_threads';
import { formatNamed } from '../formats/index.ts';
import type { ParseOptions } from '../formats/log-format.ts';
import { policySetOf, type ReadPolicies } from '../policies.ts';
import { EntryStream, type LineCounts } from '../reading/entry-stream.ts';
import type { LogChunk } from '../reading/line-cutter.ts';
import { type Kept, Replay, type ReplayOptions } from './replay.ts';
import type { ReplayResult } from './result.ts';

export const THREAD_FILE = new URL(import.meta.url);

export interface ThreadOptions extends Omit<ReplayOptions, 'policies' | 'against'> {
  readonly format: string;
  readonly parsing: ParseOptions;
  readonly sources: number;
  readonly horizonMs: number;
  readonly policies: ReadPolicies;
  readonly against: ReadPolicies | undefined;
  readonly keepsMisread: boolean;
}

export interface ChunkDone {
  readonly lines: number;
  /** Lines of this chunk that were not understood; only if they are kept. */
  readonly misread: string;
}

export interface ThreadResult {
  readonly result: ReplayResult;
  readonly lines: LineCounts;
}

export class ReplayThread {
  readonly #stream: EntryStream<Kept>;
  readonly #replay: Replay;
  #misread = '';

  constructor(options: ThreadOptions) {
    const { sources, horizonMs, policies, against, mapping } = options;
    // Without mapped fields, clients are found by their addresses alone.
    const isMapped = mapping.length > 0;
    this.#stream = new EntryStream(formatNamed(options.format).compile(options.parsing), {
      sources,
      horizonMs,
      keep: (entry) => this.#replay.keep(entry),
      ...(options.keepsMisread && {
        onMisread: ({ text }) => {
          this.#misread += `${text}\n`;
        },
      }),
    });
    this.#replay = new Replay({
      ...options,
      policies: policySetOf(policies, isMapped),
      against: against && policySetOf(against, isMapped),
    });
  }

  async add(chunk: LogChunk): Promise<ChunkDone> {
    this.#stream.add(chunk, (kept) => this.#replay.add(kept));
    // Lets Ctrl+C and the progress come through.
    await new Promise((resolve) => setImmediate(resolve));
    const misread = this.#misread;
    this.#misread = '';
    return { lines: this.#stream.counts.read, misread };
  }

  async finish(): Promise<ThreadResult> {
    this.#stream.finish((kept) => this.#replay.add(kept));
    return { result: this.#replay.finish(), lines: this.#stream.counts };
  }

  async end(): Promise<void> {}
}

/** A message without a chunk ends the thread. */
export type ThreadMessage = { readonly chunk: LogChunk | undefined };

if (workerData?.replay !== undefined && parentPort !== null) {
  const port = parentPort;
  const thread = new ReplayThread(workerData.replay);
  let working: Promise<unknown> = Promise.resolve();
  port.on('message', ({ chunk }: ThreadMessage) => {
    working = working.then(async () => {
      port.postMessage(chunk === undefined ? await thread.finish() : await thread.add(chunk));
      if (chunk === undefined) port.close();
    });
  });
}
