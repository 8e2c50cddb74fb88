/** Calls a script once for all requests of a turn of the event loop: most of its cost is per call. */
import type { StoreError, StoreErrorReason } from '../../core/counting/store.ts';
import type { CountingConnection } from './counting-connection.ts';
import { CallDeadlines, isNoScript, storeErrorFrom } from './failures.ts';
import type { Clocks } from './script-rows.ts';

export interface ScriptBatchesOptions {
  readonly connection: CountingConnection;
  readonly inFlight: InFlight;
  readonly deadlineMs: number;
  /** Replace the clocks of the server and of this gateway in tests, milliseconds since the epoch. */
  readonly now?: () => number;
  readonly ownNow?: () => number;
  readonly onBatch?: (durationMs: number, requests: number) => void;
  /** Called once for every script call that failed, and for every request that was not sent. */
  readonly onError?: (reason: StoreErrorReason, cause: unknown, requests: number) => void;
}

export interface InFlight {
  /** Throws a StoreError (`overloaded`) if too many requests are already waiting. */
  enter(): void;
  leave(requests: number): void;
}

/** A script, and how requests become its arguments and its reply their results. */
export interface BatchedScript<Request, Result> {
  readonly text: string;
  readonly sha: string;
  /** The keys of a request. */
  sizeOf(request: Request): number;
  /** Throws a StoreError if the requests cannot be sent. */
  argumentsOf(requests: readonly Request[]): CallArguments;
  /** Throws a StoreError (`malformed`) if this is not the reply to the call with this number. */
  resultsOf(requests: readonly Request[], reply: unknown, call: number): readonly Result[];
}

interface CallArguments {
  readonly number: number;
  readonly keys: readonly string[];
  values(clocks: Clocks): (string | number)[];
}

interface Pending<Request, Result> {
  readonly request: Request;
  readonly resolve: (result: Result) => void;
  readonly reject: (error: StoreError) => void;
}

/** Keys in one script call. A call blocks Redis for all other clients; bench/batch-size.ts measures for how long. */
const MAX_BATCH = 128;

export class ScriptBatches<Request, Result> {
  readonly #script: BatchedScript<Request, Result>;
  readonly #options: ScriptBatchesOptions;
  readonly #deadlines: CallDeadlines;
  #pending: Pending<Request, Result>[] = [];

  constructor(script: BatchedScript<Request, Result>, options: ScriptBatchesOptions) {
    this.#script = script;
    this.#options = options;
    this.#deadlines = new CallDeadlines(options.deadlineMs);
  }

  /** Rejects with a StoreError. */
  call(request: Request): Promise<Result> {
    const { inFlight, onError } = this.#options;
    try {
      inFlight.enter();
    } catch (cause) {
      const error = storeErrorFrom(cause);
      onError?.(error.reason, error, 1);
      return Promise.reject(error);
    }
    return new Promise((resolve, reject) => {
      this.#pending.push({ request, resolve, reject });
      if (this.#pending.length === 1) setImmediate(() => this.#flush());
    });
  }

  #flush(): void {
    const pending = this.#pending;
    this.#pending = [];
    let batch: Pending<Request, Result>[] = [];
    let size = 0;
    for (const each of pending) {
      const keys = this.#script.sizeOf(each.request);
      if (size > 0 && size + keys > MAX_BATCH) {
        this.#send(batch);
        batch = [];
        size = 0;
      }
      batch.push(each);
      size += keys;
    }
    this.#send(batch);
  }

  #send(batch: readonly Pending<Request, Result>[]): void {
    const { connection } = this.#options;
    const { text, sha } = this.#script;
    const startedMs = performance.now();
    const ends = this.#deadlines.begin((error) => this.#fail(batch, error));
    const fail = (cause: unknown) => {
      if (ends()) this.#fail(batch, cause);
    };
    try {
      const requests = batch.map(({ request }) => request);
      const call = this.#script.argumentsOf(requests);
      const onReply = (reply: unknown) => {
        try {
          const results = this.#script.resultsOf(requests, reply, call.number);
          if (ends()) this.#answer(batch, results, startedMs);
        } catch (cause) {
          fail(cause);
        }
      };
      const args = argumentsAt(call, this.#options);
      const onError = (error: unknown) => {
        // A server that does not know the script has not run it, so sending it again does not count twice.
        if (isNoScript(error)) connection.send(['eval', text, ...args], { onReply, onError: fail });
        else fail(error);
      };
      connection.send(['evalsha', sha, ...args], { onReply, onError });
    } catch (cause) {
      fail(cause);
    }
  }

  #answer(
    batch: readonly Pending<Request, Result>[],
    results: readonly Result[],
    startedMs: number,
  ): void {
    const { onBatch, inFlight } = this.#options;
    for (const [i, { resolve }] of batch.entries()) resolve(results[i] as Result);
    inFlight.leave(batch.length);
    onBatch?.(performance.now() - startedMs, batch.length);
  }

  #fail(batch: readonly Pending<Request, Result>[], cause: unknown): void {
    const { connection, onError, inFlight } = this.#options;
    const error = storeErrorFrom(cause);
    for (const { reject } of batch) reject(error);
    inFlight.leave(batch.length);
    onError?.(error.reason, cause, batch.length);
    // Later replies on this connection may belong to other calls.
    if (error.reason === 'malformed') connection.disconnect(true);
  }
}

/** What follows the script in a command. */
export function argumentsAt(
  call: CallArguments,
  { now, ownNow = Date.now }: Pick<ScriptBatchesOptions, 'now' | 'ownNow'>,
): (string | number)[] {
  const { keys } = call;
  return [keys.length, ...keys, ...call.values({ ownMs: ownNow(), serverMs: now?.() })];
}
