/**
 * Keeps keys in Redis, for all gateways on it. In a cluster the parts lie in different slots, so every change takes several
 * steps, and stopping after any of them does no harm:
 *
 * - `hg:v1:key:DIGEST`: the record of a key. Checks read nothing else.
 * - `hg:v1:keys`: the index, a sorted set of `id NUL digest` with equal scores, which Redis orders by their bytes
 *   (https://redis.io/docs/latest/commands/zrangebylex/).
 * - `hg:v1:keys:changes`: a stream of what was changed, see redis-key-changes.ts.
 * - the channel `hg:v1:keys`: announces that the stream has grown.
 *
 * Records have no time to live. If Redis evicts one, gateways that know the key keep it, and for others it is unlisted.
 */
import type { RedisClient } from '../stores/redis/client.ts';
import {
  callRedis,
  overIoredis,
  type Sender,
  type Words,
} from '../stores/redis/counting-connection.ts';
import { inTime, listIn, requireConnection, storeErrorFrom } from '../stores/redis/failures.ts';
import { readLuaScript } from '../stores/redis/lua-script.ts';
import { bySlot } from '../stores/redis/slots.ts';
import type { KeyEvents } from './key-events.ts';
import { LONGEST_RECORD, readRecord, recordText } from './key-record.ts';
import type { ChangedKeys, KeyEntry, KeyRange, KeyStore } from './key-store.ts';
import { RedisKeyChanges } from './redis-key-changes.ts';
import type { KeyRecord } from './stored-keys.ts';

const READ_SCRIPT = readLuaScript('read-keys');
const INDEX = 'hg:v1:keys';
/** Operators may wait longer than requests. */
const STEP_WITHIN_MS = 2_000;

export interface RedisKeyStoreOptions {
  /** For everything but look-ups. */
  readonly client: RedisClient;
  /** Look-ups go the way of takes. */
  readonly connection: Sender;
  readonly events: Pick<KeyEvents, 'recordUnreadable' | 'changesMissed'>;
}

export class RedisKeyStore implements KeyStore {
  readonly #options: RedisKeyStoreOptions;
  readonly #sender: Sender;
  readonly #changes: RedisKeyChanges;

  constructor(options: RedisKeyStoreOptions) {
    this.#options = options;
    this.#sender = overIoredis(options.client);
    const call = (...words: Words) => this.#call(...words);
    this.#changes = new RedisKeyChanges(call, options.events.changesMissed);
  }

  groupsOf(digests: readonly string[]): readonly (readonly string[])[] {
    if (!this.#options.client.isCluster) return [digests];
    const keys = digests.map((digest) => ({ key: recordKey(digest), digest }));
    return bySlot(keys).map(({ members }) => members.map(({ digest }) => digest));
  }

  async lookUp(digests: readonly string[]): Promise<readonly (KeyRecord | undefined)[]> {
    try {
      const keys = digests.map(recordKey);
      const words = ['eval', READ_SCRIPT, keys.length, ...keys, LONGEST_RECORD] as const;
      const texts = listIn(await callRedis(this.#options.connection, ...words));
      return digests.map((digest, i) => this.#read(digest, String(texts[i] ?? '')));
    } catch (cause) {
      throw storeErrorFrom(cause);
    }
  }

  async find(digests: readonly string[]): Promise<readonly (KeyRecord | undefined)[]> {
    const found = new Map<string, KeyRecord | undefined>();
    const groups = this.groupsOf(digests).map(async (group) => {
      const records = await this.lookUp(group);
      for (const [i, digest] of group.entries()) found.set(digest, records[i]);
    });
    await inTime(Promise.all(groups), STEP_WITHIN_MS);
    return digests.map((digest) => found.get(digest));
  }

  /** First the index: a key without a record is none, but a record without an entry could not be found to revoke it. */
  async put(records: readonly KeyRecord[]): Promise<void> {
    requireConnection(this.#options.client);
    const former = await this.find(digestsOf(records));
    await this.#call('zadd', INDEX, ...records.flatMap((record) => [0, memberOf(record)]));
    await this.#write(records);
    await this.announce(records);
    // An entry that stays because this stops before is not listed: its record has another id.
    await this.#dropEntries(former.filter((each, i) => each && each.id !== records[i]?.id));
  }

  async replace(records: readonly KeyRecord[]): Promise<readonly KeyRecord[]> {
    requireConnection(this.#options.client);
    const written = await this.#write(records, 'xx');
    await this.announce(records);
    return records.filter((_, i) => written[i] !== null);
  }

  /**
   * First the records end. If this stops halfway after that, the keys are unlisted, and can still be found and removed.
   * Deleting them first would leave gateways that know them no change to read, and operators nothing to repeat.
   */
  async remove(entries: readonly KeyEntry[]): Promise<number> {
    requireConnection(this.#options.client);
    const kept = await this.find(digestsOf(entries));
    const found = kept.filter((record) => record !== undefined);
    await this.#write(
      found.map((record) => ({ ...record, endsMs: 0 })),
      'xx',
    );
    await this.announce(entries);
    await this.#all(entries.map(({ digest }) => ['del', recordKey(digest)]));
    await this.#dropEntries([...entries, ...found]);
    return found.length;
  }

  announce(entries: readonly Pick<KeyEntry, 'digest'>[]): Promise<void> {
    return this.#changes.announce(digestsOf(entries));
  }

  async entries({ id, after, count }: KeyRange): Promise<readonly KeyEntry[]> {
    const ofAll = after === undefined ? '-' : `(${memberOf(after)}`;
    const first = id !== undefined && after === undefined ? `[${id}\0` : ofAll;
    const last = id === undefined ? '+' : `(${id}\x01`;
    const found = await this.#call('zrangebylex', INDEX, first, last, 'limit', 0, count);
    return listIn(found).map((member) => {
      const [ofId = '', digest = ''] = String(member).split('\0');
      return { id: ofId, digest };
    });
  }

  changesSince(version: string | undefined): Promise<ChangedKeys> {
    return this.#changes.since(version);
  }

  #read(digest: string, text: string): KeyRecord | undefined {
    if (text === '') return undefined;
    const record = readRecord(digest, text);
    if (record === undefined) this.#options.events.recordUnreadable(digest);
    return record;
  }

  #write(records: readonly KeyRecord[], ...how: readonly 'xx'[]): Promise<unknown[]> {
    return this.#all(
      records.map((record) => ['set', recordKey(record.digest), recordText(record), ...how]),
    );
  }

  async #dropEntries(entries: readonly (KeyEntry | undefined)[]): Promise<void> {
    const members = entries.filter((each) => each !== undefined).map(memberOf);
    if (members.length > 0) await this.#call('zrem', INDEX, ...members);
  }

  /** In a cluster each key may be on another node. */
  #all(commands: readonly Words[]): Promise<unknown[]> {
    const replies = commands.map((words) => callRedis(this.#sender, ...words));
    return inTime(Promise.all(replies), STEP_WITHIN_MS);
  }

  #call(...words: Words): Promise<unknown> {
    return inTime(callRedis(this.#sender, ...words), STEP_WITHIN_MS);
  }
}

function recordKey(digest: string): string {
  return `hg:v1:key:${digest}`;
}

function memberOf({ id, digest }: KeyEntry): string {
  return `${id}\0${digest}`;
}

function digestsOf(keys: readonly Pick<KeyRecord, 'digest'>[]): string[] {
  return keys.map(({ digest }) => digest);
}
