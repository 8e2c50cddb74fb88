/**
 * Keeps keys in Redis, for all gateways on it. In a cluster the parts lie in different slots, so every change takes several
 * steps, in an order in which each prefix of them is harmless:
 *
 * - `hg:v1:key:DIGEST`: the record of a key. Checks read nothing else.
 * - `hg:v1:keys`: the index, a sorted set of `id NUL digest` with equal scores, which Redis orders by their bytes
 *   (https://redis.io/docs/latest/commands/zrangebylex/).
 * - `hg:v1:keys:changes`: a stream of changed digests. The id of its last entry is the version.
 * - the channel `hg:v1:keys`: announces that the stream has grown.
 *
 * Records have no time to live. If Redis evicts one, gateways that know the key keep it, and for others it is unlisted.
 */
import { StoreError } from '../core/counting/store.ts';
import { KEYS_CHANNEL } from '../stores/redis/channels.ts';
import type { RedisClient } from '../stores/redis/client.ts';
import {
  callRedis,
  overIoredis,
  type Sender,
  type Words,
} from '../stores/redis/counting-connection.ts';
import { inTime, requireConnection, storeErrorFrom } from '../stores/redis/failures.ts';
import { readLuaScript } from '../stores/redis/lua-script.ts';
import { bySlot } from '../stores/redis/slots.ts';
import type { KeyEvents } from './key-events.ts';
import { LONGEST_RECORD, readRecord, recordText } from './key-record.ts';
import type { ChangedKeys, KeyEntry, KeyRange, KeyStore } from './key-store.ts';
import type { KeyRecord } from './stored-keys.ts';

const READ_KEYS_SCRIPT = readLuaScript('read-keys');
const READ_CHANGES_SCRIPT = readLuaScript('read-key-changes');
const INDEX = 'hg:v1:keys';
const CHANGES = 'hg:v1:keys:changes';
const recordKey = (digest: string) => `hg:v1:key:${digest}`;

/** Entries. Each has the digests of one `put`, `replace` or `remove`. */
const KEPT_CHANGES = 1_000;
const CHANGES_IN_A_CALL = 200;
/** In bytes: the digests of the 100 keys of a step take 4,400. */
const LONGEST_CHANGE = 8_192;
/** The version of a stream that is empty: no entry has it (https://redis.io/docs/latest/commands/xadd/). */
const NO_CHANGES = '0-0';
/** Operators may wait longer than requests. */
const STEP_WITHIN_MS = 2_000;
const DIGEST = /^[\w-]{43}$/;

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

  constructor(options: RedisKeyStoreOptions) {
    this.#options = options;
    this.#sender = overIoredis(options.client);
  }

  groupsOf(digests: readonly string[]): readonly (readonly string[])[] {
    if (!this.#options.client.isCluster) return [digests];
    const keys = digests.map((digest) => ({ key: recordKey(digest), digest }));
    return bySlot(keys).map(({ members }) => members.map(({ digest }) => digest));
  }

  async lookUp(digests: readonly string[]): Promise<readonly (KeyRecord | undefined)[]> {
    try {
      const keys = digests.map(recordKey);
      const words = ['eval', READ_KEYS_SCRIPT, keys.length, ...keys, LONGEST_RECORD] as const;
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

  async put(records: readonly KeyRecord[]): Promise<void> {
    requireConnection(this.#options.client);
    const former = await this.find(records.map(({ digest }) => digest));
    await this.#write(records);
    await this.#call('zadd', INDEX, ...records.flatMap((record) => [0, memberOf(record)]));
    await this.#announce(records);
    // An entry that stays because this stops before is not listed: its record has another id.
    await this.#dropEntries(former.filter((each, i) => each && each.id !== records[i]?.id));
  }

  async replace(records: readonly KeyRecord[]): Promise<readonly KeyRecord[]> {
    requireConnection(this.#options.client);
    const written = await this.#write(records, 'xx');
    await this.#announce(records);
    return records.filter((_, i) => written[i] !== null);
  }

  /**
   * First the records end. If this stops halfway after that, the keys are unlisted, and can still be found and removed.
   * Deleting them first would leave gateways that know them no change to read, and operators nothing to repeat.
   */
  async remove(entries: readonly KeyEntry[]): Promise<number> {
    requireConnection(this.#options.client);
    const kept = await this.find(entries.map(({ digest }) => digest));
    const found = kept.filter((record) => record !== undefined);
    await this.#write(
      found.map((record) => ({ ...record, endsMs: 0 })),
      'xx',
    );
    await this.#announce(entries);
    await this.#all(entries.map(({ digest }) => ['del', recordKey(digest)]));
    await this.#dropEntries([...entries, ...found]);
    return found.length;
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

  async changesSince(version: string | undefined): Promise<ChangedKeys> {
    const digests: string[] = [];
    let known = version;
    // A version that is the first of what comes after it is still there, so nothing between was lost.
    while (known !== undefined) {
      const [first, ...later] = await this.#changesFrom(known);
      if (first === undefined && known === NO_CHANGES) return { version: known, digests };
      if (first?.id !== known) break;
      for (const change of later) digests.push(...change.digests);
      known = later.at(-1)?.id ?? known;
      if (later.length + 1 < CHANGES_IN_A_CALL) return { version: known, digests };
      if (digests.length > MOST_CHANGED) break;
    }
    if (known !== undefined && known !== NO_CHANGES) this.#options.events.changesMissed();
    const [newest] = await this.#changesFrom('');
    return { version: newest?.id ?? NO_CHANGES, digests: undefined };
  }

  async #changesFrom(version: string): Promise<Change[]> {
    const bounds = [CHANGES_IN_A_CALL, LONGEST_CHANGE];
    const words = ['eval', READ_CHANGES_SCRIPT, 1, CHANGES, version, ...bounds] as const;
    const reply = listIn(await this.#call(...words)).map(String);
    const changes: Change[] = [];
    for (let i = 0; i < reply.length; i += 2) {
      const digests = reply[i + 1]?.split(' ') ?? [];
      changes.push({ id: reply[i] ?? '', digests: digests.filter((each) => DIGEST.test(each)) });
    }
    return changes;
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

  async #announce(changed: readonly Pick<KeyRecord, 'digest'>[]): Promise<void> {
    const digests = changed.map(({ digest }) => digest).join(' ');
    await this.#call('xadd', CHANGES, 'maxlen', '~', KEPT_CHANGES, '*', 'digests', digests);
    await this.#call('publish', KEYS_CHANNEL, '');
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

/** Whoever misses as many does better to look up again what it needs. */
const MOST_CHANGED = 20_000;

interface Change {
  readonly id: string;
  readonly digests: readonly string[];
}

function memberOf({ id, digest }: KeyEntry): string {
  return `${id}\0${digest}`;
}

function listIn(reply: unknown): unknown[] {
  if (!Array.isArray(reply))
    throw new StoreError('malformed', 'Redis replied with something other than a list');
  return reply;
}
