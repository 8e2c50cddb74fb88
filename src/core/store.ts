/** The port to whatever counts. */

export const ALGORITHMS = ['sliding-window-log', 'sliding-window-counter', 'token-bucket'] as const;
export type Algorithm = (typeof ALGORITHMS)[number];

/** In store keys, labels and scripts. */
export const SHORT_NAMES: Readonly<Record<Algorithm, string>> = {
  'sliding-window-log': 'log',
  'sliding-window-counter': 'counter',
  'token-bucket': 'bucket',
};

/** What the scripts can still count exactly, see lua/sliding-window-log.lua. */
export const MAX_LIMIT = 1_000_000;
export const MAX_WINDOW_MS = 31 * 86_400_000;

/** How much of what, and how it is counted. */
export interface Quota {
  readonly algorithm: Algorithm;
  /** Units that a window may hold; of a token bucket, units that flow back during one. */
  readonly limit: number;
  readonly windowMs: number;
  /** Units that can be taken at one moment: the limit, or the size of a token bucket. */
  readonly burst: number;
  /** Whether requests that are denied, by this limit or another, use it up too. */
  readonly countRejected: boolean;
}

/** One thing to count: policy x limit x partition. */
export interface Descriptor {
  readonly key: string;
  readonly quota: Quota;
  /** Units that this request takes. */
  readonly cost: number;
}

/** One limit as it stands after a take. */
export interface QuotaState {
  /** The quota's burst: what is there when nothing was taken. */
  readonly limit: number;
  readonly remaining: number;
  /** Until the quota is full again, if nothing more is taken. */
  readonly resetAfterMs: number;
  /** Until a request of the same cost would be admitted; 0 when it would be now. */
  readonly retryAfterMs: number;
}

export interface TakeResult {
  /** True when every descriptor had room; only then was anything consumed, but for quotas that count rejections. */
  readonly admitted: boolean;
  /** In the order of the descriptors. Undefined for one that was not asked, since another had denied already. */
  readonly states: readonly (QuotaState | undefined)[];
  /** The store's clock at the take, milliseconds since the epoch. */
  readonly nowMs: number;
}

export interface QuotaStore {
  /**
   * Consumes from every descriptor or from none. At once where the store can: a promise costs as much as a decision in
   * memory. Rejects with a StoreError when that could not be done in time.
   */
  take(descriptors: readonly Descriptor[]): TakeResult | Promise<TakeResult>;
  /** Forgets what was counted under these keys, in every gateway. Rejects with a StoreError. */
  reset(keys: readonly string[]): Promise<void>;
}

/** How quotas stand: what a take would say if it were denied by something else, with nothing taken. */
export interface QuotaReader {
  /** Rejects with a StoreError when that could not be read in time. */
  peek(descriptors: readonly Descriptor[]): PeekResult | Promise<PeekResult>;
}

export interface PeekResult {
  /** In the order of the descriptors. */
  readonly states: readonly QuotaState[];
  /** The store's clock, milliseconds since the epoch. */
  readonly nowMs: number;
}

export type StoreErrorReason =
  /** No answer in time. */
  | 'timeout'
  /** Nobody listens, or nobody is known to. */
  | 'refused'
  /** The connection broke, or there is none. */
  | 'connection'
  /** Too many wait for the store already. */
  | 'overloaded'
  /** It was too slow lately, and is not asked. */
  | 'given_up'
  | 'loading'
  | 'readonly'
  | 'oom'
  | 'misconf'
  | 'busy'
  | 'clusterdown'
  | 'noscript'
  | 'noperm'
  | 'wrongpass'
  | 'wrongtype'
  /** The answer was none of the script. */
  | 'malformed'
  | 'other';

/** The store did not answer, or not usefully. The request may or may not have been counted. */
export class StoreError extends Error {
  override readonly name = 'StoreError';
  readonly code = 'HEADGATE_STORE_FAILED';
  readonly reason: StoreErrorReason;

  constructor(reason: StoreErrorReason, message: string, options?: ErrorOptions) {
    super(message, options);
    this.reason = reason;
  }
}
