/** Keys of the store, kept up to date while the policy file in force takes keys from there. */
import type { PolicySource } from '../config/policy-file/policy-source.ts';
import { KeyBook } from '../keys/key-book.ts';
import type { KeyEvents } from '../keys/key-events.ts';
import type { KeyStore } from '../keys/key-store.ts';
import type { StoredKeys } from '../keys/stored-keys.ts';

interface SharedKeysOptions {
  readonly keyStore: KeyStore;
  readonly policies: Pick<PolicySource, 'current'>;
  readonly deadlineMs: number;
  readonly events: KeyEvents;
}

export interface SharedKeys {
  readonly keys: StoredKeys;
  /** Rejects with a StoreError if the store fails. Without such a policy file, nothing is sent. */
  refresh(): Promise<void>;
}

export function createSharedKeys(options: SharedKeysOptions): SharedKeys {
  const { keyStore, policies, deadlineMs, events } = options;
  const keys = new KeyBook({ store: keyStore, deadlineMs, events, now: () => performance.now() });
  return {
    keys,
    async refresh() {
      if (policies.current.keysInStore) await keys.refresh();
    },
  };
}
