/** The override store that all gateways on one Redis share. It survives restarts, and announces changes. */
import { StoreError } from '../../core/counting/store.ts';
import { OVERRIDES_CHANNEL } from '../redis/channels.ts';
import type { RedisClient } from '../redis/client.ts';
import { inTime, requireConnection } from '../redis/failures.ts';
import { readLuaScript } from '../redis/lua-script.ts';
import {
  isRemoved,
  MAX_OVERRIDES,
  type OverrideStore,
  OverrideStoreFull,
  type StoredOverride,
} from './override.ts';

export const WRITE_OVERRIDES_SCRIPT = readLuaScript('write-overrides');
export const READ_OVERRIDES_SCRIPT = readLuaScript('read-overrides');
const KEY = 'hg:v1:notices';
const TOO_MANY = -1;
const LONGEST_MS = 32 * 86_400_000;
const REPLACE = 0;
const KEEP = 1;

type Row = readonly [about: string, lifetimeMs: number, text: string];
/** Clocks that differ by less are treated as equal, because the duration of a reply is unknown. */
const SAME_CLOCK_MS = 2_000;

export interface RedisOverrideStoreOptions {
  readonly client: RedisClient;
  readonly deadlineMs: number;
  readonly now: () => number;
}

/** Every method rejects with a StoreError if Redis fails. */
export class RedisOverrideStore implements OverrideStore {
  readonly #options: RedisOverrideStoreOptions;
  /** The clock of this process minus the clock of Redis, which decides when overrides end. */
  #aheadMs = 0;

  constructor(options: RedisOverrideStoreOptions) {
    this.#options = options;
  }

  async read(): Promise<readonly StoredOverride[]> {
    const { client, deadlineMs, now } = this.#options;
    const reply = await inTime(client.eval(READ_OVERRIDES_SCRIPT, 1, KEY), deadlineMs);
    if (!Array.isArray(reply))
      throw new StoreError('malformed', 'Redis replied with something other than overrides');
    const [redisNowMs, ...fields] = reply;
    const aheadMs = now() - Number(redisNowMs);
    // A small change is kept out, because it would change the end of every override at every read.
    if (Math.abs(aheadMs - this.#aheadMs) > SAME_CLOCK_MS) this.#aheadMs = aheadMs;
    const overrides: StoredOverride[] = [];
    for (let i = 0; i < fields.length; i += 2) {
      const [about, value] = [String(fields[i]), String(fields[i + 1])];
      const space = value.indexOf(' ');
      const endMs = Number(value.slice(0, space));
      if (!(endMs <= Number(redisNowMs) + LONGEST_MS)) continue;
      overrides.push({ about, untilMs: endMs + this.#aheadMs, text: value.slice(space + 1) });
    }
    if (overrides.filter((each) => !isRemoved(each)).length > MAX_OVERRIDES) {
      throw new StoreError('malformed', `${KEY} holds more overrides than gateways write`);
    }
    return overrides;
  }

  async put(override: StoredOverride): Promise<void> {
    requireConnection(this.#options.client);
    if ((await this.#run(REPLACE, this.#rowOf(override))) === TOO_MANY)
      throw new OverrideStoreFull();
  }

  async restoreLost(overrides: readonly StoredOverride[]): Promise<void> {
    await this.#run(KEEP, ...overrides.map((override) => this.#rowOf(override)));
  }

  async remove(about: string, note = ''): Promise<boolean> {
    requireConnection(this.#options.client);
    return (await this.#run(REPLACE, [about, 0, note])) === 1;
  }

  /** An override that has ended is stored for a millisecond. */
  #rowOf({ about, untilMs, text }: StoredOverride): Row {
    return [about, Math.max(1, Math.ceil(untilMs - this.#options.now())), text];
  }

  #run(ifStored: typeof KEEP | typeof REPLACE, ...rows: readonly Row[]): Promise<unknown> {
    const values = [OVERRIDES_CHANNEL, MAX_OVERRIDES, ifStored, ...rows.flat()];
    const { client, deadlineMs } = this.#options;
    return inTime(client.eval(WRITE_OVERRIDES_SCRIPT, 1, KEY, ...values), deadlineMs);
  }
}
