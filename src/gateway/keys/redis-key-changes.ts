/**
 * The changes of keys in Redis: a stream of changed digests. Its last entry is the version, by its id and a random name: a
 * list that was lost and begun again may have the id again (https://redis.io/docs/latest/commands/xadd/).
 */
import { randomBytes } from 'node:crypto';
import { KEYS_CHANNEL } from '../stores/redis/channels.ts';
import type { Words } from '../stores/redis/counting-connection.ts';
import { listIn } from '../stores/redis/failures.ts';
import { readLuaScript } from '../stores/redis/lua-script.ts';
import type { ChangedKeys } from './key-store.ts';

const READ_SCRIPT = readLuaScript('read-key-changes');
const CHANGES = 'hg:v1:keys:changes';
/** Entries. Each has the digests of one step of a change. */
const KEPT = 1_000;
const READ_AT_ONCE = 200;
/** In bytes: the digests of the 100 keys of a step take 4,400. */
const LONGEST = 8_192;
const NAME_BYTES = 6;
/** Whoever misses as many does better to look up again what it needs. */
const MOST_CHANGED = 20_000;
const DIGEST = /^[\w-]{43}$/;

interface Change {
  readonly version: string;
  readonly digests: readonly string[];
}

export class RedisKeyChanges {
  readonly #call: (...words: Words) => Promise<unknown>;
  readonly #onMissed: () => void;

  constructor(call: (...words: Words) => Promise<unknown>, onMissed: () => void) {
    this.#call = call;
    this.#onMissed = onMissed;
  }

  async announce(digests: readonly string[]): Promise<void> {
    await this.#add(digests);
    // If the account may not publish, gateways read the change at their next interval.
    await this.#call('publish', KEYS_CHANNEL, '').catch(() => {});
  }

  async since(version: string | undefined): Promise<ChangedKeys> {
    const digests: string[] = [];
    let known = version;
    // A version that is the first of what comes after it is still there, so nothing between was lost.
    while (known !== undefined) {
      const [first, ...later] = await this.#readFrom(known);
      if (first?.version !== known) break;
      for (const change of later) digests.push(...change.digests);
      known = later.at(-1)?.version ?? known;
      if (later.length + 1 < READ_AT_ONCE) return { version: known, digests };
      if (digests.length > MOST_CHANGED) break;
    }
    if (known !== undefined) this.#onMissed();
    const [newest] = await this.#readFrom('');
    return { version: newest?.version ?? (await this.#begin()), digests: undefined };
  }

  /** Without an entry nobody could tell that the list was lost. Undefined if Redis takes none: it is full, say. */
  #begin(): Promise<string | undefined> {
    return this.#add([]).catch(() => undefined);
  }

  async #add(digests: readonly string[]): Promise<string> {
    const name = randomBytes(NAME_BYTES).toString('base64url');
    const entry = ['*', name, digests.join(' ')] as const;
    return `${await this.#call('xadd', CHANGES, 'maxlen', '~', KEPT, ...entry)} ${name}`;
  }

  async #readFrom(version: string): Promise<Change[]> {
    const [id = ''] = version.split(' ');
    const words = ['eval', READ_SCRIPT, 1, CHANGES, id, READ_AT_ONCE, LONGEST] as const;
    const reply = listIn(await this.#call(...words)).map(String);
    const changes: Change[] = [];
    for (let i = 0; i < reply.length; i += 3) {
      const digests = reply[i + 2]?.split(' ') ?? [];
      changes.push({
        version: `${reply[i]} ${reply[i + 1]}`,
        digests: digests.filter((each) => DIGEST.test(each)),
      });
    }
    return changes;
  }
}
