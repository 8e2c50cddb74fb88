/** Keys in the store: what operators change there, and what checks of this process know of them. */
import type { StoredKey } from '../core/identity/key-directory.ts';
import { KeyChanges } from './key-changes.ts';
import type { KeyEvents } from './key-events.ts';
import type { KeyEntry, KeyStore } from './key-store.ts';
import { KnownKeys } from './known-keys.ts';
import { LookUps } from './look-ups.ts';
import type { KeyPage, KeyRecord, StoredKeys } from './stored-keys.ts';

/** Keys in one step of a change. */
const MOST_IN_A_STEP = 100;

export interface KeyBookOptions {
  readonly store: KeyStore;
  /** How long a request may wait for the store, in milliseconds. */
  readonly deadlineMs: number;
  readonly events: KeyEvents;
  /** Milliseconds of a monotonic clock. */
  readonly now: () => number;
}

export class KeyBook implements StoredKeys {
  readonly #store: KeyStore;
  readonly #known: KnownKeys;
  readonly #lookUps: LookUps;
  readonly #changes: KeyChanges;

  constructor(options: KeyBookOptions) {
    const { store } = options;
    this.#store = store;
    this.#known = new KnownKeys(options.now);
    this.#lookUps = new LookUps({ ...options, known: this.#known });
    this.#changes = new KeyChanges({
      store,
      onChanged: (digests) => this.#forget(digests),
    });
  }

  find(digest: string): StoredKey | undefined {
    return this.#known.find(digest);
  }

  isKnown(digest: string): boolean {
    return this.#known.has(digest);
  }

  lookUp(digests: readonly string[], addressOf: () => string): Promise<void> | undefined {
    return this.#lookUps.lookUp(digests, addressOf);
  }

  clientOf(partition: string): StoredKey | undefined {
    return this.#known.clientOf(partition);
  }

  /** Reads what other gateways have changed. Rejects with a StoreError if the store fails. */
  refresh(): Promise<void> {
    return this.#changes.refresh();
  }

  async put(records: readonly KeyRecord[]): Promise<void> {
    await this.#inSteps(records, (step) => this.#store.put(step));
    this.#known.rememberClients(records);
  }

  async ofId(id: string): Promise<readonly KeyRecord[]> {
    const records: KeyRecord[] = [];
    let after: KeyEntry | undefined;
    do {
      const entries = await this.#store.entries({ id, after, count: MOST_IN_A_STEP });
      records.push(...(await this.#recordsOf(entries)));
      after = entries[MOST_IN_A_STEP - 1];
    } while (after !== undefined);
    return records;
  }

  async ofDigests(digests: readonly string[]): Promise<readonly (KeyRecord | undefined)[]> {
    const records = await this.#store.find(digests);
    this.#known.rememberClients(records.filter((record) => record !== undefined));
    return records;
  }

  async replace(records: readonly KeyRecord[]): Promise<readonly KeyRecord[]> {
    const replaced = await this.#inSteps(records, (step) => this.#store.replace(step));
    this.#known.rememberClients(replaced.flat());
    return replaced.flat();
  }

  async announce(records: readonly Pick<KeyRecord, 'digest'>[]): Promise<void> {
    await this.#inSteps(records, (step) => this.#store.announce(step));
  }

  async remove(entries: readonly KeyEntry[]): Promise<number> {
    const removed = await this.#inSteps(entries, (step) => this.#store.remove(step));
    return removed.reduce((sum, count) => sum + count, 0);
  }

  async list(after: string | undefined, count: number): Promise<KeyPage> {
    const from = after === undefined ? undefined : entryIn(after);
    const entries = await this.#store.entries({ after: from, count: count + 1 });
    const last = entries.length > count ? entries[count - 1] : undefined;
    const keys = await this.#recordsOf(entries.slice(0, count));
    return { keys, next: last && placeOf(last) };
  }

  /** Without those of keys that were removed halfway, moved to another id, or evicted. */
  async #recordsOf(entries: readonly KeyEntry[]): Promise<KeyRecord[]> {
    if (entries.length === 0) return [];
    const records = await this.ofDigests(entries.map(({ digest }) => digest));
    return records.filter((record, i) => record?.id === entries[i]?.id) as KeyRecord[];
  }

  async #inSteps<T extends Pick<KeyEntry, 'digest'>, R>(
    all: readonly T[],
    act: (step: readonly T[]) => Promise<R>,
  ): Promise<R[]> {
    const results: R[] = [];
    for (let first = 0; first < all.length; first += MOST_IN_A_STEP) {
      const step = all.slice(first, first + MOST_IN_A_STEP);
      results.push(await act(step));
      // Without waiting for the message. After a failure, what is known stays: the store may be away.
      this.#forget(step.map(({ digest }) => digest));
    }
    return results;
  }

  #forget(digests: readonly string[] | undefined): void {
    this.#known.forget(digests);
    this.#lookUps.changed(digests);
  }
}

/** Where a page ends, as a text for URLs. */
function placeOf({ id, digest }: KeyEntry): string {
  return Buffer.from(`${id}\0${digest}`).toString('base64url');
}

function entryIn(place: string): KeyEntry {
  const [id = '', digest = ''] = Buffer.from(place, 'base64url').toString().split('\0');
  return { id, digest };
}
