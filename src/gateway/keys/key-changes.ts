/** Follows the changes of keys in the store, those of other gateways included. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { KeyStore } from './key-store.ts';

export interface KeyChangesOptions {
  readonly store: Pick<KeyStore, 'changesSince'>;
  /** These keys were changed, or any if undefined. */
  readonly onChanged: (digests: readonly string[] | undefined) => void;
}

export class KeyChanges {
  readonly #options: KeyChangesOptions;
  /** Undefined until the first read: what is known from before it may be outdated. */
  #version: string | undefined;
  #reading: Promise<void> | undefined;
  #isStale = false;

  constructor(options: KeyChangesOptions) {
    this.#options = options;
  }

  /** Reads the changes since the last read. Rejects with a StoreError if the store fails; the next read makes up for it. */
  refresh(): Promise<void> {
    // A key may have changed after the current read looked, so that read has to be repeated.
    this.#isStale = this.#reading !== undefined;
    this.#reading ??= this.#read().finally(() => {
      this.#reading = undefined;
    });
    return this.#reading;
  }

  async #read(): Promise<void> {
    const { store, onChanged } = this.#options;
    do {
      this.#isStale = false;
      const { version, digests } = await store.changesSince(this.#version);
      // A request whose key was found in this turn of the event loop has not read it yet.
      await nextTurn();
      if (digests === undefined || digests.length > 0) onChanged(digests);
      this.#version = version;
    } while (this.#isStale);
  }
}
