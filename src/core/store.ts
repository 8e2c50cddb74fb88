/** The port to whatever counts. */

/** One thing to count: policy x limit x partition. */
export interface Descriptor {
  readonly key: string;
  /** Units that any window of `windowMs` may hold. */
  readonly limit: number;
  readonly windowMs: number;
  /** Units that this request takes. */
  readonly cost: number;
}

/** One limit as it stands after a take. */
export interface QuotaState {
  readonly limit: number;
  readonly remaining: number;
  /** Until the quota is full again, if nothing more is taken. */
  readonly resetAfterMs: number;
  /** Until a request of the same cost would be admitted; 0 when it would be now. */
  readonly retryAfterMs: number;
}

export interface TakeResult {
  /** True when every descriptor had room; only then was anything consumed. */
  readonly admitted: boolean;
  /** In the order of the descriptors. */
  readonly states: readonly QuotaState[];
  /** The store's clock at the take, milliseconds since the epoch. */
  readonly nowMs: number;
}

export interface QuotaStore {
  /** Consumes from every descriptor or from none. Rejects with a StoreError when that could not be done in time. */
  take(descriptors: readonly Descriptor[]): Promise<TakeResult>;
}

export type StoreErrorReason =
  | 'timeout'
  | 'connection'
  | 'overloaded'
  | 'loading'
  | 'readonly'
  | 'oom'
  | 'busy'
  | 'acl'
  | 'protocol'
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
