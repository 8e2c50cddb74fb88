/** The port to the limiter that counts in this process while the store fails. */
import type { Descriptor, TakeResult } from './store.ts';

export interface LocalLimiter {
  /** Records what the store admitted, so that clients do not start with full limits when the store fails. */
  record(descriptors: readonly Descriptor[]): void;
  /** Takes from this process's share of all limits or of none. Never fails. */
  take(descriptors: readonly Descriptor[]): TakeResult;
}
