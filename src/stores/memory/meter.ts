/** What one key holds, for one algorithm: the model that the Lua script of the same name is held against. */
import type { Quota, QuotaState } from '../../core/store.ts';

export interface Meter {
  /** From then on it is as good as new, milliseconds since the epoch. */
  readonly overAtMs: number;
  /**
   * Whether a request fits. Comes first in a take, and brings the meter to this moment: after a step back of the clock,
   * what lies ahead of it counts as of now. So nothing is forgotten, and nobody waits longer for it than one window.
   */
  fits(quota: Quota, cost: number, nowMs: number): boolean;
  /**
   * Comes after `fits`, for the same moment. Records the request if it was admitted or rejections count, and tells how
   * the quota stands then. A refused request fills what it finds, and never makes it grow without end.
   */
  settle(quota: Quota, cost: number, nowMs: number, admitted: boolean): QuotaState;
}
