/** Keys in a store, in this process. */
import { StoreError } from '../../src/gateway/core/counting/store.ts';
import type { KeyRecord, StoredKeys } from '../../src/gateway/keys/stored-keys.ts';

interface TestKeys extends StoredKeys {
  /** Every call but those of checks fails. */
  isDown: boolean;
  readonly all: readonly KeyRecord[];
  readonly announced: readonly string[];
}

export function storedKeys(): TestKeys {
  const records = new Map<string, KeyRecord>();
  const known = new Map<string, KeyRecord>();
  const up = async () => {
    if (keys.isDown) throw new StoreError('connection', 'is down');
  };
  const keys = {
    isDown: false,
    get all() {
      return [...records.values()];
    },
    find(digest: string) {
      const found = keys.isDown ? undefined : records.get(digest);
      if (found !== undefined) known.set(found.partition, found);
      return found;
    },
    isKnown: () => !keys.isDown,
    lookUp: () => undefined,
    clientOf: (partition: string) => known.get(partition),
    async put(given: readonly KeyRecord[]) {
      await up();
      for (const each of given) records.set(each.digest, each);
    },
    async ofId(id: string) {
      await up();
      const found = keys.all.filter((each) => each.id === id);
      for (const each of found) known.set(each.partition, each);
      return found;
    },
    async ofDigests(digests: readonly string[]) {
      await up();
      return digests.map(keys.find);
    },
    async replace(given: readonly KeyRecord[]) {
      const there = given.filter(({ digest }) => records.has(digest));
      await keys.put(there);
      return there;
    },
    announced: [] as string[],
    async announce(given: readonly Pick<KeyRecord, 'digest'>[]) {
      await up();
      keys.announced.push(...given.map(({ digest }) => digest));
    },
    async remove(given: readonly Pick<KeyRecord, 'id' | 'digest'>[]) {
      await up();
      return given.filter(({ digest }) => records.delete(digest)).length;
    },
    async list(after: string | undefined, count: number) {
      await up();
      const sorted = keys.all.toSorted((a, b) => (a.id + a.digest < b.id + b.digest ? -1 : 1));
      const rest = sorted.filter((each) => after === undefined || each.id + each.digest > after);
      const page = rest.slice(0, count);
      const last = page.at(-1);
      return { keys: page, next: rest.length > count && last ? last.id + last.digest : undefined };
    },
  };
  return keys;
}
