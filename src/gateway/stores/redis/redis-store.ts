/** Counts in Redis: takes and settlements in batches, and what operators read and reset. */
import type { Settlement, SettlementStore, SettleResult } from '../../core/counting/settlement.ts';
import {
  type Descriptor,
  type PeekResult,
  type QuotaReader,
  type QuotaStore,
  StoreError,
  type TakeResult,
} from '../../core/counting/store.ts';
import { resetKeys } from './channels.ts';
import { callRedis } from './counting-connection.ts';
import { requireConnection, storeErrorFrom, withDeadline } from './failures.ts';
import {
  argumentsAt,
  type BatchedScript,
  type InFlight,
  ScriptBatches,
  type ScriptBatchesOptions,
} from './script-batches.ts';
import {
  SETTLE_SCRIPT,
  SETTLE_SCRIPT_SHA,
  SettleArguments,
  settleResultsOf,
} from './settle-script.ts';
import {
  type IndebtedDescriptor,
  type OnDebt,
  PEEK_SCRIPT,
  TAKE_SCRIPT,
  TAKE_SCRIPT_SHA,
  TakeArguments,
  TakeReply,
} from './take-script.ts';

export interface RedisStoreOptions extends ScriptBatchesOptions {
  /** Settlements can wait and be sent again, so they have places of their own and never cost a request its place. */
  readonly settlementsInFlight?: InFlight;
}

interface Take {
  readonly descriptors: readonly IndebtedDescriptor[];
  readonly onDebt: OnDebt | undefined;
}

const TAKES: BatchedScript<Take, TakeResult> = {
  text: TAKE_SCRIPT,
  sha: TAKE_SCRIPT_SHA,
  sizeOf: ({ descriptors }) => descriptors.length,
  argumentsOf(takes) {
    const call = new TakeArguments();
    for (const { descriptors } of takes) call.add(descriptors);
    return call;
  },
  resultsOf(takes, numbers, call) {
    const reply = new TakeReply(numbers, call);
    const results = takes.map(({ descriptors, onDebt }) => reply.read(descriptors, onDebt));
    reply.end();
    return results;
  },
};

const SETTLEMENTS: BatchedScript<Settlement, SettleResult> = {
  text: SETTLE_SCRIPT,
  sha: SETTLE_SCRIPT_SHA,
  sizeOf: ({ parts }) => parts.length + 1,
  argumentsOf(settlements) {
    const call = new SettleArguments();
    for (const settlement of settlements) call.add(settlement);
    return call;
  },
  resultsOf: settleResultsOf,
};

export class RedisStore implements QuotaStore, QuotaReader, SettlementStore {
  readonly #options: RedisStoreOptions;
  readonly #takes: ScriptBatches<Take, TakeResult>;
  #settlements: ScriptBatches<Settlement, SettleResult> | undefined;

  constructor(options: RedisStoreOptions) {
    this.#options = options;
    this.#takes = new ScriptBatches(TAKES, options);
  }

  take(descriptors: readonly IndebtedDescriptor[], onDebt?: OnDebt): Promise<TakeResult> {
    return this.#takes.call({ descriptors, onDebt });
  }

  settle(settlement: Settlement): Promise<SettleResult> {
    this.#settlements ??= new ScriptBatches(SETTLEMENTS, settlingOptions(this.#options));
    return this.#settlements.call(settlement);
  }

  async peek(descriptors: readonly Descriptor[]): Promise<PeekResult> {
    const { connection, deadlineMs } = this.#options;
    try {
      const call = new TakeArguments();
      call.add(descriptors);
      const words = argumentsAt(call, this.#options);
      const numbers = await withDeadline(
        callRedis(connection, 'eval', PEEK_SCRIPT, ...words),
        deadlineMs,
      );
      return new TakeReply(numbers, call.number).peeked(descriptors);
    } catch (cause) {
      throw storeErrorFrom(cause);
    }
  }

  async reset(keys: readonly string[], settled: readonly string[] = []): Promise<void> {
    const { connection, now, deadlineMs } = this.#options;
    try {
      requireConnection(connection);
      await resetKeys(connection, { keys, settled, nowMs: now?.() }, deadlineMs);
    } catch (cause) {
      throw storeErrorFrom(cause);
    }
  }
}

/** What is reported of them counts no requests. */
function settlingOptions(options: RedisStoreOptions): ScriptBatchesOptions {
  const { settlementsInFlight = options.inFlight, onBatch, onError } = options;
  return {
    ...options,
    inFlight: settlementsInFlight,
    ...(onBatch && { onBatch: (durationMs: number) => onBatch(durationMs, 0) }),
    ...(onError && { onError: (reason, cause) => onError(reason, cause, 0) }),
  };
}

/** Bounds the number of requests that wait for Redis, so that a Redis that hangs cannot fill the memory of this process. */
export function createInFlight(most: number): InFlight {
  // Created once: creating an error with its stack costs more than taking a request.
  const tooMany = new StoreError('overloaded', `${most} requests already wait for Redis`);
  let count = 0;
  return {
    enter(): void {
      if (count >= most) throw tooMany;
      count++;
    },
    leave(requests: number): void {
      count -= requests;
    },
  };
}
