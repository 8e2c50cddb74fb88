/** What this process knows of keys in the store: bounded, whatever clients invent. */
import type { StoredKey } from '../core/identity/key-directory.ts';
import { RecentMap } from '../core/recent-map.ts';

/** A key takes 250 bytes, see bench/keys.ts. */
const MOST_FOUND = 1_000_000;
const MOST_UNKNOWN = 50_000;
const MOST_CLIENTS = 100_000;
/** No change announces a record that a backup brings back, so a key that nobody has is looked up again in the end. */
const UNKNOWN_FOR_MS = 300_000;

export class KnownKeys {
  readonly #now: () => number;
  readonly #found: RecentMap<StoredKey>;
  /** Digests that the store has no record of, and until when that is remembered. */
  readonly #unknown = new RecentMap<number>(MOST_UNKNOWN);
  /** By their partitions, for operators. Changes that other gateways make do not update these. */
  readonly #clients = new RecentMap<StoredKey>(MOST_CLIENTS);

  /** `now`: milliseconds of a monotonic clock. */
  constructor(now: () => number, mostFound = MOST_FOUND) {
    this.#now = now;
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
    if (this.#found.get(digest) !== undefined) return true;
    const untilMs = this.#unknown.get(digest);
    return untilMs !== undefined && this.#now() < untilMs;
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
    this.#unknown.set(digest, this.#now() + UNKNOWN_FOR_MS);
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
