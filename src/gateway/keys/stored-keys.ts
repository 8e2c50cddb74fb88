/** The port to API keys that are kept in the store: what operators change, and what checks read. */
import type { KeyDirectory, StoredKey } from '../core/identity/key-directory.ts';

/** Only the digest of a key is kept. */
export interface KeyRecord extends StoredKey {
  /** The SHA-256 of the key in base64url, 43 characters. */
  readonly digest: string;
  /** A note of operators, without control characters. */
  readonly comment: string | undefined;
  /** When it was added, milliseconds since the epoch. */
  readonly addedMs: number;
}

export type KeyChange = Partial<Pick<KeyRecord, 'plan' | 'comment' | 'endsMs' | 'isBlocked'>>;

export interface KeyPage {
  /** In the order of their ids. Keys of one id follow one another. */
  readonly keys: readonly KeyRecord[];
  /** Where the next page begins; undefined after the last one. */
  readonly next: string | undefined;
}

/** Every method but those of KeyDirectory rejects with a StoreError if the store fails. A half-done change is finished by repeating it. */
export interface StoredKeys extends KeyDirectory {
  /** Adds these keys, or replaces what is kept of the same digests. */
  put(records: readonly KeyRecord[]): Promise<void>;
  /** All keys with this id, ended ones included. */
  ofId(id: string): Promise<readonly KeyRecord[]>;
  ofDigest(digest: string): Promise<KeyRecord | undefined>;
  /** Changes all keys with this id. Resolves to them as they are now; none if there is no such id. */
  change(id: string, change: KeyChange): Promise<readonly KeyRecord[]>;
  /** Removes these keys. Resolves to how many there were. */
  remove(records: readonly Pick<KeyRecord, 'id' | 'digest'>[]): Promise<number>;
  /** `after`: the `next` of the page before. */
  list(after: string | undefined, count: number): Promise<KeyPage>;
}
