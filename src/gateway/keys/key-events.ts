import type { StoreError } from '../core/counting/store.ts';

/** What happens to keys of the store, for metrics and log lines. */
export interface KeyEvents {
  /** The store answered a call that looked up so many digests in time. */
  readonly lookedUp: (digests: number, found: number) => void;
  /** Requests with so many keys do not wait, or wait no longer: these count as unlisted until the store answers. */
  readonly lookUpsLate: (digests: number) => void;
  readonly lookUpsFailed: (error: StoreError, digests: number) => void;
  /** Requests of this address, a pseudonym, have invented too many keys, so this one counts as unlisted. */
  readonly tooManyInvented: (address: string) => void;
  /** The store has a record that is none of a gateway. */
  readonly recordUnreadable: (digest: string) => void;
  /** This process missed changes, or the store lost their list: it looks up all keys again. */
  readonly changesMissed: () => void;
}
