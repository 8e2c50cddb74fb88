/** API keys that are kept in the store: what this process knows of them. */

export interface StoredKey {
  /** Identifies the client. Two keys with one id share a quota. */
  readonly id: string;
  /** That of `id`, see `listedKeyPartition`. */
  readonly partition: string;
  readonly plan: string | undefined;
  readonly isBlocked: boolean;
  /** Milliseconds since the epoch; Infinity for a key without an end. From then on, the key is unlisted. */
  readonly endsMs: number;
}

/** Digests are the SHA-256 of keys in base64url, 43 characters. */
export interface KeyDirectory {
  /** Undefined if there is no such key, or it has not been looked up. It may have ended. */
  find(digest: string): StoredKey | undefined;
  /**
   * Looks up those of the digests that nothing is known of, all requests of a turn of the event loop together. Undefined if
   * there is none, or if requests of this address have invented too many keys. Never rejects, and resolves within the time
   * that a request may wait for the store: what is not known then is unlisted. `addressOf` gives the pseudonym of the
   * client's address, and is called only if there is something to look up.
   */
  lookUp(digests: readonly string[], addressOf: () => string): Promise<void> | undefined;
  /** Whether it is known if there is such a key. After a look-up: false if the store did not answer, or was not asked. */
  isKnown(digest: string): boolean;
  /** The client of a listed key by its partition, if one of its keys was found recently. */
  clientOf(partition: string): StoredKey | undefined;
}
