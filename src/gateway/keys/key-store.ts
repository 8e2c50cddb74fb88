/** The port to where the records of keys are kept: Redis and the memory of a single process implement it. */
import type { KeyRecord } from './stored-keys.ts';

/** Names a key in the index. */
export type KeyEntry = Pick<KeyRecord, 'id' | 'digest'>;

export interface KeyRange {
  /** Entries of this id alone. */
  readonly id?: string;
  /** Entries that come after this one. */
  readonly after?: KeyEntry | undefined;
  readonly count: number;
}

export interface ChangedKeys {
  /** The version to pass to the next call. Undefined if the store has none: any key may have changed by then. */
  readonly version: string | undefined;
  /** Undefined if any key may have changed. */
  readonly digests: readonly string[] | undefined;
}

/** Every method rejects with a StoreError if the store fails. What stopped halfway is finished by repeating it. */
export interface KeyStore {
  /** Groups the digests: `lookUp` takes each group in one call. */
  groupsOf(digests: readonly string[]): readonly (readonly string[])[];
  /** Waits for the store as long as it takes. Undefined stands for a digest without a record. */
  lookUp(digests: readonly string[]): Promise<readonly (KeyRecord | undefined)[]>;
  /** As `lookUp`, for operators: any digests, but not for longer than they may wait. */
  find(digests: readonly string[]): Promise<readonly (KeyRecord | undefined)[]>;
  put(records: readonly KeyRecord[]): Promise<void>;
  /** Writes those whose digests are still there, and resolves to them. */
  replace(records: readonly KeyRecord[]): Promise<readonly KeyRecord[]>;
  /** Resolves to how many there were. */
  remove(entries: readonly KeyEntry[]): Promise<number>;
  /** Lets all gateways forget what they know of these keys. */
  announce(entries: readonly Pick<KeyEntry, 'digest'>[]): Promise<void>;
  /** By id, then by digest, in the order of their UTF-8 bytes. An entry may have lost its record. */
  entries(range: KeyRange): Promise<readonly KeyEntry[]>;
  /** The keys that changed since this version. */
  changesSince(version: string | undefined): Promise<ChangedKeys>;
}
