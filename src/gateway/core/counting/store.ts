/** The port to stores: quotas, descriptors, the results of a take, and errors. */
import type { Calendar } from './calendar.ts';

export const ALGORITHMS = [
  'sliding-window-log',
  'sliding-window-counter',
  'token-bucket',
  'fixed-window',
] as const;
export type Algorithm = (typeof ALGORITHMS)[number];

export const SHORT_NAMES: Readonly<Record<Algorithm, string>> = {
  'sliding-window-log': 'log',
  'sliding-window-counter': 'counter',
  'token-bucket': 'bucket',
  'fixed-window': 'fixed',
};

/** The largest limit that the scripts count exactly, see lua/includes/sliding-window-log.lua. */
export const MAX_LIMIT = 1_000_000;
export const MAX_FIXED_LIMIT = 2 ** 32 - 1;
export const MAX_FIXED_UNITS = 2 ** 52;
export const MAX_WINDOW_MS = 31 * 86_400_000;

export interface Quota {
  readonly algorithm: Algorithm;
  /** Units per window; for a token bucket, the units that it regains per window. */
  readonly limit: number;
  /** The longest window, if they follow a calendar. */
  readonly windowMs: number;
  /** For fixed windows. Without it, they start at multiples of `windowMs` since the epoch. */
  readonly calendar?: Calendar | undefined;
  /** Units that can be taken at once: the limit, or the size of a token bucket. */
  readonly burst: number;
  /**
   * Whether denied requests consume units too, even if another limit denied them. A fixed window counts them in full, up to
   * MAX_FIXED_UNITS; others until nothing is left. Refunds of denied requests give nothing back.
   */
  readonly countRejected: boolean;
  /**
   * For limits that are charged with what a response has used, except fixed windows, which count all charges. A charge of a
   * request that is denied, by this limit or another, takes what is left of it (`take`): nothing where nothing is left, and
   * only as often as calls were admitted.
   * Admitted charges and checks are noted for that; other admitted requests (`note`) only of a key that has charges. What a
   * charge took under another name (`taken`) is counted as it is, and uses an admitted call of this name.
   */
  readonly remainder?: 'note' | 'take' | 'taken';
}

/** One thing to count: policy x limit x partition. */
export interface Descriptor {
  readonly key: string;
  readonly quota: Quota;
  /**
   * Units that this request consumes. More than the burst never fit.
   *
   * 0 is a check. It consumes nothing, and fits if a unit is left; in a fixed window, if no more than the limit was counted.
   *
   * Less than 0 is a refund. It always fits, and if the request is admitted, gives units back: of a log the newest, of a
   * counter first those of the current window. No count goes below 0.
   */
  readonly cost: number;
  /**
   * The key of the same quota under the name that its client had before the salts changed. That descriptor is in the same
   * take, before this one. What was counted before the change is under that key only; a token bucket inherits its debt.
   */
  readonly previousKey?: string | undefined;
  /** What a usual request costs, if this one differs. While the store fails, gateways share the quota out in such pieces. */
  readonly usualCost?: number;
  /** The limit charges afterwards: what it took for a request that is denied all the same is given back. */
  readonly givesBack?: true;
}

export interface QuotaState {
  /** The quota's burst: the units of an unused quota. */
  readonly limit: number;
  readonly remaining: number;
  /** Milliseconds until the quota is full again, if nothing more is taken. */
  readonly resetAfterMs: number;
  /** Until the same cost would be admitted, milliseconds; above the burst, until as much is left as there will be. */
  readonly retryAfterMs: number;
  /** Only of a request that was denied: the units that it took here all the same, as a charge or in an earlier slot. */
  readonly taken?: number;
  /** When they were taken, if that was at another moment than `nowMs` of the result: in another slot of a cluster. */
  readonly takenAtMs?: number;
}

export function fractionLeft({ limit, remaining }: QuotaState): number {
  return remaining / Math.max(1, limit);
}

/** Units that must be left for a request of this cost, except in a fixed window. */
export function unitsNeeded(cost: number): number {
  if (cost > 0) return cost;
  return cost === 0 ? 1 : Number.NEGATIVE_INFINITY;
}

export function changesCount(
  { quota: { countRejected }, cost }: Pick<Descriptor, 'quota' | 'cost'>,
  admitted: boolean,
): boolean {
  return admitted ? cost !== 0 : countRejected && cost > 0;
}

export function isCharge({
  quota: { remainder },
  cost,
}: Pick<Descriptor, 'quota' | 'cost'>): boolean {
  return remainder === 'take' && cost > 0;
}

export interface TakeResult {
  /** Otherwise only `countRejected` quotas consumed units, and those of a charge that took what was left. */
  readonly admitted: boolean;
  /** In the order of the descriptors. Undefined for one that was not checked, because another denied first. */
  readonly states: readonly (QuotaState | undefined)[];
  /** The store's clock at the take, in milliseconds since the epoch. */
  readonly nowMs: number;
}

export interface QuotaStore {
  /**
   * Consumes from every descriptor or from none. A store in this process answers without a promise, which would cost as
   * much as the decision. Rejects with a StoreError if the store does not answer in time.
   */
  take(descriptors: readonly Descriptor[]): TakeResult | Promise<TakeResult>;
  /**
   * Resets the counters of these keys, in every gateway. Those of `settled`, which are among them, belong to limits that
   * charge afterwards: settlements of earlier reservations no longer change them. Rejects with a StoreError.
   */
  reset(keys: readonly string[], settled?: readonly string[]): Promise<void>;
}

export interface LocalLimiter {
  /** Records what the store admitted, so that clients do not start with full limits when the store fails. */
  record(descriptors: readonly Descriptor[]): void;
  take(descriptors: readonly Descriptor[]): TakeResult;
}

export interface QuotaReader {
  peek(descriptors: readonly Descriptor[]): PeekResult | Promise<PeekResult>;
}

export interface PeekResult {
  readonly states: readonly QuotaState[];
  readonly nowMs: number;
}

export type StoreErrorReason =
  | 'timeout'
  /** The connection was refused, or no server is known. */
  | 'refused'
  | 'connection'
  | 'overloaded'
  /** The store was too slow recently, so it is not used. */
  | 'given_up'
  | 'loading'
  | 'readonly'
  | 'oom'
  | 'misconf'
  | 'busy'
  | 'clusterdown'
  | 'noscript'
  | 'nolua'
  | 'noperm'
  | 'wrongpass'
  | 'wrongtype'
  | 'malformed'
  | 'other';

/** The store did not answer, or gave an invalid reply. The request may or may not have been counted. */
export class StoreError extends Error {
  override readonly name = 'StoreError';
  readonly code = 'HEADGATE_STORE_FAILED';
  readonly reason: StoreErrorReason;

  constructor(reason: StoreErrorReason, message: string, options?: ErrorOptions) {
    super(message, options);
    this.reason = reason;
  }
}
