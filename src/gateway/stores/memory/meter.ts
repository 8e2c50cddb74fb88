/** The count of one key, for one algorithm. It is the model for the Lua file of the same algorithm. */
import type { Descriptor, Quota, QuotaState } from '../../core/counting/store.ts';
import type { Kept } from './meter-table.ts';

/** A request as one meter sees it. */
export type MeteredRequest = Pick<Descriptor, 'quota' | 'cost'>;

/** A request with what its token bucket owes at least, because it owes it under the previous name. In units x windowMs. */
export interface IndebtedRequest extends MeteredRequest {
  readonly leastDebt?: number;
}

export interface Meter extends Kept {
  /**
   * Whether a request fits. Called first in a take; brings the meter to this moment. If the clock was set back, units in
   * the future count as of now. So no unit is forgotten, and no client waits for it longer than one window.
   */
  fits(request: IndebtedRequest, nowMs: number): boolean;
  /**
   * Called after `fits`, for the same moment. Records the request if it was admitted or rejected requests count, and
   * returns the state of the quota after that. A refund counts only if it was admitted. Rejected requests fill a quota up
   * but never make it grow without end, nor lengthen a wait beyond what a full quota needs.
   */
  settle(request: MeteredRequest, nowMs: number, admitted: boolean): QuotaState;
  /** What a token bucket owes, in units x windowMs. */
  debtAt?(quota: Quota, nowMs: number): number;
}
