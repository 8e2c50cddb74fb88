/** The port by which stores correct counters once the outcome of a request is known. */
import type { Quota } from './store.ts';

/** Units x windowMs that settlements make a counter or a bucket hold at most: sums of two such numbers are exact. */
export const MAX_SETTLED = 2 ** 52;
/** How long a settlement may come after its reservation at most. */
export const MAX_SETTLE_WITHIN_MS = 86_400_000;

/** What one request turned out to cost. It changes the counters once, however often it is sent. */
export interface Settlement {
  /** Unique among requests: marks that are kept beside the counters have it in their names. */
  readonly id: string;
  /** Until when the marks are kept, milliseconds since the epoch. */
  readonly endsMs: number;
  readonly parts: readonly SettledPart[];
}

export interface SettledPart {
  readonly key: string;
  readonly quota: Quota;
  /** When the units were reserved, by the clock of the store, in milliseconds since the epoch. */
  readonly momentMs: number;
  readonly reserved: number;
  /** 0 or more. */
  readonly used: number;
}

/**
 * `settled`: the count is right now. `gone`: what was to be given back no longer counts. `reset`: the counter was reset
 * after the reservation. `repeated`: it was settled before. `ended`: by the clock of the store, `endsMs` has passed, so the
 * marks may be gone. Only `settled` changes a count.
 */
export type SettledState = 'settled' | 'gone' | 'reset' | 'repeated' | 'ended';

export interface SettleResult {
  /** In the order of the parts. */
  readonly parts: readonly { readonly state: SettledState; readonly cut: number }[];
}

export interface SettlementStore {
  /**
   * Corrects each counter by `used - reserved`, at the moment of the reservation for what is given back, and now for a
   * surplus. A surplus may go beyond the limit, by the limit at most, and as far as counts are exact: `cut` is what was left
   * out. Rejects with a StoreError; the settlement can then be sent again.
   * A log gives back the request of that millisecond, if it cost 1; a counter, units of the moment's window or none if that
   * is older than the previous one; a bucket, what has not flowed back since; a fixed window, units while it lasts.
   */
  settle(settlement: Settlement): SettleResult | Promise<SettleResult>;
}
