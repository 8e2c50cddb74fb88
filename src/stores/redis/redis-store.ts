/**
 * Counts in Redis. All requests of one turn of the event loop are sent in one script call, because most of the cost of a
 * command, on both sides, is per call.
 */
import type {
  Descriptor,
  PeekResult,
  QuotaReader,
  QuotaStore,
  StoreError,
  StoreErrorReason,
  TakeResult,
} from '../../core/store.ts';
import type { RedisClient } from './client.ts';
import { withDeadline } from './deadline.ts';
import { isNoScript, storeErrorFrom } from './errors.ts';
import type { InFlight } from './in-flight.ts';
import { resetKeys } from './resets.ts';
import {
  PEEK_SCRIPT,
  TAKE_SCRIPT,
  TAKE_SCRIPT_SHA,
  TakeArguments,
  TakeReply,
} from './take-script.ts';

export interface RedisStoreOptions {
  /** The caller closes it. */
  readonly client: RedisClient;
  readonly inFlight: InFlight;
  /** The maximum time a request waits, milliseconds. */
  readonly deadlineMs: number;
  /** Replaces the server's clock in tests, milliseconds since the epoch. */
  readonly now?: () => number;
  /** Called after every script call that was answered. */
  readonly onBatch?: (durationMs: number, requests: number) => void;
  /** Called once for every script call that failed, and for every request that was not sent. */
  readonly onError?: (reason: StoreErrorReason, cause: unknown) => void;
}

interface PendingTake {
  readonly descriptors: readonly Descriptor[];
  readonly resolve: (result: TakeResult) => void;
  readonly reject: (error: StoreError) => void;
}

/** Descriptors in one script call. A call blocks Redis for all other clients; bench/batch-size.ts measures for how long. */
const MAX_BATCH = 128;

export class RedisStore implements QuotaStore, QuotaReader {
  readonly #options: RedisStoreOptions;
  #pending: PendingTake[] = [];

  constructor(options: RedisStoreOptions) {
    this.#options = options;
  }

  take(descriptors: readonly Descriptor[]): Promise<TakeResult> {
    const { inFlight, onError } = this.#options;
    try {
      inFlight.enter();
    } catch (cause) {
      const error = storeErrorFrom(cause);
      onError?.(error.reason, error);
      return Promise.reject(error);
    }
    return new Promise((resolve, reject) => {
      this.#pending.push({ descriptors, resolve, reject });
      if (this.#pending.length === 1) setImmediate(() => this.#flush());
    });
  }

  async peek(descriptors: readonly Descriptor[]): Promise<PeekResult> {
    const { client, deadlineMs, now } = this.#options;
    try {
      const call = new TakeArguments();
      call.add(descriptors);
      const { keys } = call;
      const reply = client.eval(PEEK_SCRIPT, keys.length, ...keys, ...call.values(now?.()));
      const numbers = await withDeadline(reply, deadlineMs);
      return new TakeReply(numbers, call.number).peeked(descriptors);
    } catch (cause) {
      throw storeErrorFrom(cause);
    }
  }

  async reset(keys: readonly string[]): Promise<void> {
    const { client, deadlineMs } = this.#options;
    try {
      await resetKeys(client, keys, deadlineMs);
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
        void this.#send(batch);
        batch = [];
        size = 0;
      }
      batch.push(take);
      size += take.descriptors.length;
    }
    void this.#send(batch);
  }

  async #send(batch: readonly PendingTake[]): Promise<void> {
    const { deadlineMs, onBatch, onError, inFlight } = this.#options;
    const startedMs = performance.now();
    try {
      const call = new TakeArguments();
      for (const { descriptors } of batch) call.add(descriptors);
      const numbers = await withDeadline(this.#call(call), deadlineMs);
      const reply = new TakeReply(numbers, call.number);
      const results = batch.map(({ descriptors }) => reply.read(descriptors));
      reply.end();
      for (const [i, { resolve }] of batch.entries()) resolve(results[i] as TakeResult);
      onBatch?.(performance.now() - startedMs, batch.length);
    } catch (cause) {
      const error = storeErrorFrom(cause);
      for (const { reject } of batch) reject(error);
      onError?.(error.reason, cause);
      // Later replies on this connection may belong to other calls.
      if (error.reason === 'malformed') this.#options.client.disconnect(true);
    } finally {
      inFlight.leave(batch.length);
    }
  }

  async #call(call: TakeArguments): Promise<unknown> {
    const { client, now } = this.#options;
    const { keys } = call;
    const values = call.values(now?.());
    try {
      return await client.evalsha(TAKE_SCRIPT_SHA, keys.length, ...keys, ...values);
    } catch (error) {
      // A server that does not know the script has not run it, so sending it again does not count twice.
      if (!isNoScript(error)) throw error;
      return await client.eval(TAKE_SCRIPT, keys.length, ...keys, ...values);
    }
  }
}
