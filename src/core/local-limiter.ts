/** The port to what counts in this process when the store cannot. */
import type { Descriptor, TakeResult } from './store.ts';

export interface LocalLimiter {
  /** What the store admitted, so that taking over does not begin with a clean slate. */
  record(descriptors: readonly Descriptor[]): void;
  /** Takes from this process's share of every limit, or from none. Never fails. */
  take(descriptors: readonly Descriptor[]): TakeResult;
}
