/** Counts descriptors in the store or, while the store fails, as their policies say. */
import type { HeaderFields } from '../check-request.ts';
import type { Counted, Decision } from './decision.ts';
import type { LimitDescriptor } from './descriptor.ts';
import { type LocalLimiter, type QuotaStore, StoreError, type TakeResult } from './store.ts';

export interface CountingOptions {
  readonly store: Pick<QuotaStore, 'take'>;
  readonly local: LocalLimiter;
}

/** Descriptors that are counted together: all of them, or none. There is at least one. */
export interface Group {
  readonly descriptors: readonly LimitDescriptor[];
  /** If the store fails, its error goes to the caller: policies do not decide, and nothing is counted locally. */
  readonly leavesFailure?: boolean;
  /** Resolves when there is no time left for the store, if the request has waited for it before. */
  readonly late?: Promise<unknown> | undefined;
}

/** A store in this process gives no promise. Rejects with a StoreError only if `leavesFailure` is set. */
export type Count = <Result>(
  group: Group,
  conclude: (counted: Counted) => Result | Promise<Result>,
  span?: CheckSpan,
) => Result | Promise<Result>;

export function createCounting({ store, local }: CountingOptions): Count {
  return ({ descriptors, leavesFailure, late }, conclude, span) => {
    const taking = span?.startTake(descriptors.length);
    const taken = within(store.take(descriptors), late);
    const counted = (result: TakeResult) => {
      taking?.answered(result.admitted);
      return conclude({ descriptors, result, mode: 'enforced' });
    };
    // A store that answers without a promise is in this process and never fails.
    if (!(taken instanceof Promise)) return counted(taken);
    return taken.then(
      (result) => {
        if (result.admitted && !leavesFailure) recordLocally(local, descriptors);
        return counted(result);
      },
      (error: unknown) => {
        taking?.failed(error);
        if (!(error instanceof StoreError) || leavesFailure) throw error;
        return conclude(countWithoutStore(descriptors, local));
      },
    );
  };
}

function within(taken: TakeResult | Promise<TakeResult>, late: Promise<unknown> | undefined) {
  if (late === undefined || !(taken instanceof Promise)) return taken;
  const fail = () => {
    throw new StoreError('timeout', 'the request had waited for a look-up of its key before');
  };
  return Promise.race([taken, late.then(fail)]);
}

/** The local limiter must know what the store admitted, or its clients would start again with full limits. */
function recordLocally(local: LocalLimiter, descriptors: readonly LimitDescriptor[]): void {
  if (descriptors.some(isCountedLocally)) local.record(descriptors.filter(isCountedLocally));
}

/** The strictest mode decides: `deny`, then `local`, then `allow`. */
function countWithoutStore(descriptors: readonly LimitDescriptor[], local: LocalLimiter): Counted {
  const closed = descriptors.filter(({ source }) => source.policy.onStoreFailure === 'deny');
  if (closed.length > 0) return { descriptors: closed, result: undefined, mode: 'closed' };
  const counted = descriptors.filter(isCountedLocally);
  if (counted.length === 0) return { descriptors, result: undefined, mode: 'open' };
  return { descriptors: counted, result: local.take(counted), mode: 'local' };
}

function isCountedLocally({ source }: LimitDescriptor): boolean {
  return source.policy.onStoreFailure === 'local';
}

/** The span of a check or call, and those of its takes. A check that is not sampled has none. */
export interface CheckSpan {
  startTake(descriptors: number): TakeSpan;
  decided(decision: Decision): void;
  failed(error: unknown): void;
}

export interface TakeSpan {
  answered(admitted: boolean): void;
  failed(error: unknown): void;
}

/** `headers` may hold the trace context of the caller. Returns undefined for a check that is not sampled. */
export type StartCheckSpan = (headers: HeaderFields) => CheckSpan | undefined;
