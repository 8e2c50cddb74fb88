/** What a descriptor of a call counted. */
import type { LimitDescriptor } from '../../core/counting/descriptor.ts';
import type { QuotaState } from '../../core/counting/store.ts';
import type { Share } from './plan.ts';

export interface CountedShare {
  readonly share: Share;
  readonly isOver: boolean;
  /** Undefined if nothing was measured, because the store failed. */
  readonly state: QuotaState | undefined;
  /** The descriptor with that state. */
  readonly descriptor: LimitDescriptor;
  /** The store's clock, milliseconds since the epoch. */
  readonly nowMs: number;
  readonly mode: 'enforced' | 'local' | 'open' | 'closed';
}
