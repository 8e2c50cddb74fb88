/** Counts in Redis. One script call has all requests of a turn of the event loop: most of its cost is per call. */
import {
  type Descriptor,
  type PeekResult,
  type QuotaReader,
  type QuotaStore,
  StoreError,
  type StoreErrorReason,
  type TakeResult,
} from '../../core/counting/store.ts';
import { resetKeys } from './channels.ts';
import { type CountingConnection, callRedis } from './counting-connection.ts';
import {
  CallDeadlines,
  isNoScript,
  requireConnection,
  storeErrorFrom,
  withDeadline,
} from './failures.ts';
import {
  type IndebtedDescriptor,
  type OnDebt,
  PEEK_SCRIPT,
  TAKE_SCRIPT,
  TAKE_SCRIPT_SHA,
  TakeArguments,
  TakeReply,
} from './take-script.ts';

export interface RedisStoreOptions {
  readonly connection: CountingConnection;
  readonly inFlight: ReturnType<typeof createInFlight>;
  readonly deadlineMs: number;
  /** Replace the clocks of the server and of this gateway in tests, milliseconds since the epoch. */
  readonly now?: () => number;
  readonly ownNow?: () => number;
  readonly onBatch?: (durationMs: number, requests: number) => void;
  /** Called once for every script call that failed, and for every request that was not sent. */
  readonly onError?: (reason: StoreErrorReason, cause: unknown, checks: number) => void;
}

interface PendingTake {
  readonly descriptors: readonly IndebtedDescriptor[];
  readonly onDebt: OnDebt | undefined;
  readonly resolve: (result: TakeResult) => void;
  readonly reject: (error: StoreError) => void;
}

/** Descriptors in one script call. A call blocks Redis for all other clients; bench/batch-size.ts measures for how long. */
const MAX_BATCH = 128;

export class RedisStore implements QuotaStore, QuotaReader {
  readonly #options: RedisStoreOptions;
  readonly #deadlines: CallDeadlines;
  #pending: PendingTake[] = [];

  constructor(options: RedisStoreOptions) {
    this.#options = options;
    this.#deadlines = new CallDeadlines(options.deadlineMs);
  }

  take(descriptors: readonly IndebtedDescriptor[], onDebt?: OnDebt): Promise<TakeResult> {
    const { inFlight, onError } = this.#options;
    try {
      inFlight.enter();
    } catch (cause) {
      const error = storeErrorFrom(cause);
      onError?.(error.reason, error, 1);
      return Promise.reject(error);
    }
    return new Promise((resolve, reject) => {
      this.#pending.push({ descriptors, onDebt, resolve, reject });
      if (this.#pending.length === 1) setImmediate(() => this.#flush());
    });
  }

  async peek(descriptors: readonly Descriptor[]): Promise<PeekResult> {
    const { connection, deadlineMs } = this.#options;
    try {
      const call = new TakeArguments();
      call.add(descriptors);
      const reply = callRedis(connection, 'eval', PEEK_SCRIPT, ...this.#argumentsOf(call));
      const numbers = await withDeadline(reply, deadlineMs);
      return new TakeReply(numbers, call.number).peeked(descriptors);
    } catch (cause) {
      throw storeErrorFrom(cause);
    }
  }

  async reset(keys: readonly string[]): Promise<void> {
    const { connection, deadlineMs } = this.#options;
    try {
      requireConnection(connection);
      await resetKeys(connection, keys, deadlineMs);
    } catch (cause) {
      throw storeErrorFrom(cause);
    }
  }

  #flush(): void {
    const pending = this.#pending;
    this.#pending = [];
    let batch: PendingTake[] = [];
    let size = 0;
    for (const take of pending) {
      if (size > 0 && size + take.descriptors.length > MAX_BATCH) {
        this.#send(batch);
        batch = [];
        size = 0;
      }
      batch.push(take);
      size += take.descriptors.length;
    }
    this.#send(batch);
  }

  #send(batch: readonly PendingTake[]): void {
    const { connection } = this.#options;
    const startedMs = performance.now();
    const ends = this.#deadlines.begin((error) => this.#fail(batch, error));
    const fail = (cause: unknown) => {
      if (ends()) this.#fail(batch, cause);
    };
    try {
      const call = new TakeArguments();
      for (const { descriptors } of batch) call.add(descriptors);
      const onReply = (reply: unknown) => {
        try {
          const results = resultsOf(batch, new TakeReply(reply, call.number));
          if (ends()) this.#answer(batch, results, startedMs);
        } catch (cause) {
          fail(cause);
        }
      };
      const args = this.#argumentsOf(call);
      const onError = (error: unknown) => {
        // A server that does not know the script has not run it, so sending it again does not count twice.
        if (isNoScript(error))
          connection.send(['eval', TAKE_SCRIPT, ...args], { onReply, onError: fail });
        else fail(error);
      };
      connection.send(['evalsha', TAKE_SCRIPT_SHA, ...args], { onReply, onError });
    } catch (cause) {
      fail(cause);
    }
  }

  #argumentsOf(call: TakeArguments): (string | number)[] {
    const { now, ownNow = Date.now } = this.#options;
    const { keys } = call;
    return [keys.length, ...keys, ...call.values({ ownMs: ownNow(), serverMs: now?.() })];
  }

  #answer(batch: readonly PendingTake[], results: readonly TakeResult[], startedMs: number): void {
    const { onBatch, inFlight } = this.#options;
    for (const [i, { resolve }] of batch.entries()) resolve(results[i] as TakeResult);
    inFlight.leave(batch.length);
    onBatch?.(performance.now() - startedMs, batch.length);
  }

  #fail(batch: readonly PendingTake[], cause: unknown): void {
    const { connection, onError, inFlight } = this.#options;
    const error = storeErrorFrom(cause);
    for (const { reject } of batch) reject(error);
    inFlight.leave(batch.length);
    onError?.(error.reason, cause, batch.length);
    // Later replies on this connection may belong to other calls.
    if (error.reason === 'malformed') connection.disconnect(true);
  }
}

function resultsOf(batch: readonly PendingTake[], reply: TakeReply): TakeResult[] {
  const results = batch.map(({ descriptors, onDebt }) => reply.read(descriptors, onDebt));
  reply.end();
  return results;
}

/** Bounds the number of requests that wait for Redis, so that a Redis that hangs cannot fill the memory of this process. */
export function createInFlight(most: number) {
  // Created once: creating an error with its stack costs more than taking a request.
  const tooMany = new StoreError('overloaded', `${most} requests already wait for Redis`);
  let count = 0;
  return {
    /** Throws a StoreError (`overloaded`) if too many requests are already waiting. */
    enter(): void {
      if (count >= most) throw tooMany;
      count++;
    },
    leave(requests: number): void {
      count -= requests;
    },
  };
}
