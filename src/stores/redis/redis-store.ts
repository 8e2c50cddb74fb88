/**
 * Counts in Redis. All requests of one turn of the event loop go in one script call: what a command costs on either
 * side is paid once for all of them.
 */
import type { Redis } from 'ioredis';
import {
  type Descriptor,
  type QuotaStore,
  StoreError,
  type StoreErrorReason,
  type TakeResult,
} from '../../core/store.ts';
import { isNoScript, storeErrorFrom } from './errors.ts';
import {
  encodeTakes,
  TAKE_SCRIPT,
  TAKE_SCRIPT_SHA,
  type TakeArguments,
  TakeReply,
} from './take-script.ts';

export interface RedisStoreOptions {
  /** Belongs to whoever made it, and is closed there. */
  readonly client: Redis;
  /** How long a request waits at most, milliseconds. What Redis does with it later only ever counts too much. */
  readonly deadlineMs: number;
  /** Replaces the server's clock, milliseconds since the epoch: for tests. */
  readonly now?: () => number;
  readonly onBatch?: (durationMs: number, requests: number) => void;
  readonly onError?: (reason: StoreErrorReason, cause: unknown) => void;
}

interface PendingTake {
  readonly descriptors: readonly Descriptor[];
  readonly resolve: (result: TakeResult) => void;
  readonly reject: (error: StoreError) => void;
}

/** A script call blocks Redis for everyone: at a few microseconds a request this stays below a millisecond. */
const MAX_BATCH = 64;

/** Requests under way at most. A Redis that hangs must not fill this process's memory. */
const MAX_IN_FLIGHT = 5_000;

export class RedisStore implements QuotaStore {
  readonly #options: RedisStoreOptions;
  #pending: PendingTake[] = [];
  #inFlight = 0;

  constructor(options: RedisStoreOptions) {
    this.#options = options;
  }

  take(descriptors: readonly Descriptor[]): Promise<TakeResult> {
    if (this.#inFlight >= MAX_IN_FLIGHT) {
      const error = new StoreError(
        'overloaded',
        `${MAX_IN_FLIGHT} requests already wait for Redis`,
      );
      this.#options.onError?.(error.reason, error);
      return Promise.reject(error);
    }
    this.#inFlight++;
    return new Promise((resolve, reject) => {
      this.#pending.push({ descriptors, resolve, reject });
      if (this.#pending.length === 1) setImmediate(() => this.#flush());
    });
  }

  #flush(): void {
    const pending = this.#pending;
    this.#pending = [];
    for (let start = 0; start < pending.length; start += MAX_BATCH) {
      void this.#send(pending.slice(start, start + MAX_BATCH));
    }
  }

  async #send(batch: readonly PendingTake[]): Promise<void> {
    const { deadlineMs, now, onBatch, onError } = this.#options;
    const startedMs = performance.now();
    try {
      const encoded = encodeTakes(
        batch.map((take) => take.descriptors),
        now?.(),
      );
      const answer = await withDeadline(this.#call(encoded), deadlineMs);
      const reply = new TakeReply(answer, batch.length, encoded.keys.length);
      for (const { descriptors, resolve } of batch) resolve(reply.read(descriptors));
      onBatch?.(performance.now() - startedMs, batch.length);
    } catch (cause) {
      const error = storeErrorFrom(cause);
      for (const { reject } of batch) reject(error);
      onError?.(error.reason, cause);
    } finally {
      this.#inFlight -= batch.length;
    }
  }

  async #call({ keys, values }: TakeArguments): Promise<unknown> {
    const { client } = this.#options;
    try {
      return await client.evalsha(TAKE_SCRIPT_SHA, keys.length, ...keys, ...values);
    } catch (error) {
      // A server that does not know the script has not run it, so sending it again counts nothing twice.
      if (!isNoScript(error)) throw error;
      return await client.eval(TAKE_SCRIPT, keys.length, ...keys, ...values);
    }
  }
}

/** One timer for a whole batch: its requests were sent together, so they give up together. */
async function withDeadline<T>(answer: Promise<T>, deadlineMs: number): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const deadline = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      reject(new StoreError('timeout', `Redis did not answer within ${deadlineMs} ms`));
    }, deadlineMs);
  });
  try {
    return await Promise.race([answer, deadline]);
  } finally {
    clearTimeout(timer);
  }
}
