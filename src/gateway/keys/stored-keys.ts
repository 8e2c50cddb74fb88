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

/** The digest in the form in which policy files, answers and databases have it: 64 digits of hex. */
export function sha256Of({ digest }: Pick<KeyRecord, 'digest'>): string {
  return Buffer.from(digest, 'base64url').toString('hex');
}

export function digestOf(sha256: string): string {
  return Buffer.from(sha256, 'hex').toString('base64url');
}

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
  /** Undefined stands for a digest without a record. */
  ofDigests(digests: readonly string[]): Promise<readonly (KeyRecord | undefined)[]>;
  /** Writes those whose digests are still there, so that none is kept again that was removed. Resolves to them. */
  replace(records: readonly KeyRecord[]): Promise<readonly KeyRecord[]>;
  /** Lets all gateways look these keys up again: a change that stopped halfway may not have been announced. */
  announce(records: readonly Pick<KeyRecord, 'digest'>[]): Promise<void>;
  /** Removes these keys. Resolves to how many there were. */
  remove(records: readonly Pick<KeyRecord, 'id' | 'digest'>[]): Promise<number>;
  /** `after`: the `next` of the page before. */
  list(after: string | undefined, count: number): Promise<KeyPage>;
}
