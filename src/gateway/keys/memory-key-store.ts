/** Keeps keys in the process, for a gateway without Redis. They are lost with it. */
import type { ChangedKeys, KeyEntry, KeyRange, KeyStore } from './key-store.ts';
import type { KeyRecord } from './stored-keys.ts';

export class MemoryKeyStore implements KeyStore {
  readonly #records = new Map<string, KeyRecord>();
  /** All records in the order of the index; undefined after a change. */
  #sorted: readonly KeyRecord[] | undefined;

  groupsOf(digests: readonly string[]): readonly (readonly string[])[] {
    return [digests];
  }

  async find(digests: readonly string[]): Promise<readonly (KeyRecord | undefined)[]> {
    return digests.map((digest) => this.#records.get(digest));
  }

  lookUp(digests: readonly string[]): Promise<readonly (KeyRecord | undefined)[]> {
    return this.find(digests);
  }

  async put(records: readonly KeyRecord[]): Promise<void> {
    for (const record of records) this.#records.set(record.digest, record);
    this.#sorted = undefined;
  }

  async replace(records: readonly KeyRecord[]): Promise<readonly KeyRecord[]> {
    const there = records.filter(({ digest }) => this.#records.has(digest));
    await this.put(there);
    return there;
  }

  async remove(entries: readonly KeyEntry[]): Promise<number> {
    this.#sorted = undefined;
    return entries.filter(({ digest }) => this.#records.delete(digest)).length;
  }

  /** Nobody else knows any. */
  async announce(): Promise<void> {}

  async entries({ id, after, count }: KeyRange): Promise<readonly KeyEntry[]> {
    this.#sorted ??= [...this.#records.values()].sort(byIdAndDigest);
    const inRange = (entry: KeyEntry) =>
      (id === undefined || entry.id === id) &&
      (after === undefined || byIdAndDigest(entry, after) > 0);
    return this.#sorted.filter(inRange).slice(0, count).map(entryOf);
  }

  /** Nobody else changes them. */
  async changesSince(): Promise<ChangedKeys> {
    return { version: '', digests: [] };
  }
}

function entryOf({ id, digest }: KeyRecord): KeyEntry {
  return { id, digest };
}

function byIdAndDigest(a: KeyEntry, b: KeyEntry): number {
  return (
    Buffer.compare(Buffer.from(a.id), Buffer.from(b.id)) ||
    (a.digest < b.digest ? -1 : Number(a.digest > b.digest))
  );
}
