/** Who else counts in this Redis: each gateway says now and then that it is there. */
import { randomUUID } from 'node:crypto';
import type { Place } from '../local-share.ts';
import type { RedisClient } from './client.ts';
import { readLuaScript } from './lua-script.ts';

export const REPLICAS_SCRIPT = readLuaScript('replicas');
const KEY = 'hg:v1:replicas';

export const HEARTBEAT_MS = 2_000;
/** Two words may be lost. */
const LIFETIME_MS = 3 * HEARTBEAT_MS + HEARTBEAT_MS / 2;
/** After Redis was away, until every gateway that found it again has said so. */
const SETTLED_AFTER_MS = HEARTBEAT_MS + 1_000;

export interface ReplicasOptions {
  readonly client: RedisClient;
  /** Gateways there are at least, and which of them this is from 0, until Redis has said so. */
  readonly assumed: Place;
  /** Milliseconds of a clock that is never set. */
  readonly now: () => number;
}

export class Replicas {
  readonly #options: ReplicasOptions;
  readonly #name = randomUUID();
  #names: readonly string[] = [this.#name];
  #inTouchSinceMs: number;
  #least: number;

  constructor(options: ReplicasOptions) {
    this.#options = options;
    this.#least = options.assumed.count;
    this.#inTouchSinceMs = options.now();
  }

  /** As it was last known: while Redis is away, nobody's place changes. */
  get place(): Place {
    if (this.#names.length < this.#least) {
      return { count: this.#least, rank: this.#options.assumed.rank };
    }
    return { count: this.#names.length, rank: this.#names.indexOf(this.#name) };
  }

  /** Redis was away: it may have forgotten those who have not found it again. */
  lostTouch(): void {
    this.#inTouchSinceMs = this.#options.now();
  }

  /** Rejects when Redis does not answer. */
  async beat(): Promise<void> {
    const { client, now } = this.#options;
    const reply = await client.eval(REPLICAS_SCRIPT, 1, KEY, this.#name, LIFETIME_MS);
    const heard = (Array.isArray(reply) ? reply : []).map(String);
    const isSettled = now() - this.#inTouchSinceMs >= SETTLED_AFTER_MS;
    if (isSettled) this.#least = 1;
    // Whoever is new counts at once, and who is gone only when that is certain: a share too small lets nobody through
    // that should not be.
    const before = isSettled ? [] : this.#names;
    this.#names = [...new Set([...before, ...heard, this.#name])].sort();
  }
}
