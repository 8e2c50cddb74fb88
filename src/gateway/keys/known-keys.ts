/** What this process knows of keys in the store: bounded, whatever clients invent. */
import type { StoredKey } from '../core/identity/key-directory.ts';
import { RecentMap } from '../core/recent-map.ts';

/** A key takes 250 bytes, see bench/keys.ts. */
const MOST_FOUND = 1_000_000;
const MOST_UNKNOWN = 50_000;
const MOST_CLIENTS = 100_000;

export class KnownKeys {
  readonly #found: RecentMap<StoredKey>;
  /** Digests that the store has no record of. */
  readonly #unknown = new RecentMap<true>(MOST_UNKNOWN);
  /** By their partitions. What is told of clients may be a moment old, so changes of others leave it as it is. */
  readonly #clients = new RecentMap<StoredKey>(MOST_CLIENTS);

  constructor(mostFound = MOST_FOUND) {
    this.#found = new RecentMap(mostFound);
  }

  find(digest: string): StoredKey | undefined {
    const key = this.#found.get(digest);
    if (key !== undefined && this.#clients.get(key.partition) !== key) {
      this.#clients.set(key.partition, key);
    }
    return key;
  }

  has(digest: string): boolean {
    return this.#found.get(digest) !== undefined || this.#unknown.get(digest) !== undefined;
  }

  clientOf(partition: string): StoredKey | undefined {
    return this.#clients.get(partition);
  }

  /** `digest` must be no part of a longer text. */
  rememberFound(digest: string, key: StoredKey): void {
    this.#found.set(digest, withoutMore(key));
  }

  /** Of keys that an operator has read or written here. */
  rememberClients(keys: readonly StoredKey[]): void {
    for (const key of keys) this.#clients.set(key.partition, withoutMore(key));
  }

  rememberUnknown(digest: string): void {
    this.#unknown.set(digest, true);
  }

  /** `digests`: undefined stands for all. */
  forget(digests: readonly string[] | undefined): void {
    if (digests === undefined) {
      this.#found.clear();
      this.#unknown.clear();
      return;
    }
    for (const digest of digests) {
      this.#found.delete(digest);
      this.#unknown.delete(digest);
    }
  }
}

/** Keeps nothing of a record but what checks read. */
function withoutMore({ id, partition, plan, isBlocked, endsMs }: StoredKey): StoredKey {
  return { id, partition, plan, isBlocked, endsMs };
}
