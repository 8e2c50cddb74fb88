/** Counts the gateways on this Redis. Each gateway sends a heartbeat. */
import { randomUUID } from 'node:crypto';
import { StoreError } from '../../core/counting/store.ts';
import type { GatewayRank } from '../local-share.ts';
import type { RedisClient } from './client.ts';
import { readLuaScript } from './lua-script.ts';

export const REPLICAS_SCRIPT = readLuaScript('replicas');
const KEY = 'hg:v1:replicas';

export const HEARTBEAT_MS = 2_000;
/** A gateway counts as alive for this time after a heartbeat: two may be lost. */
const LIFETIME_MS = 3 * HEARTBEAT_MS + HEARTBEAT_MS / 2;
/** After Redis was down: until every gateway that has reconnected has sent a heartbeat. */
const SETTLED_AFTER_MS = HEARTBEAT_MS + 1_000;

/** How many gateways have sent a heartbeat lately. Rejects with the error of Redis. */
export async function countGateways(client: RedisClient): Promise<number> {
  const [[seconds = 0], reports] = await Promise.all([client.time(), client.hgetall(KEY)]);
  const nowMs = Number(seconds) * 1_000;
  const isAlive = (ms: string) => Math.abs(nowMs - Number(ms)) <= LIFETIME_MS;
  return Object.values(reports).filter(isAlive).length;
}

export interface ReplicasOptions {
  readonly client: RedisClient;
  /** The minimum number of gateways, and this gateway's rank, until heartbeats say otherwise. */
  readonly assumed: GatewayRank;
  /** Milliseconds of a monotonic clock. */
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

  /** The last known place. While Redis is down, it does not change. */
  get place(): GatewayRank {
    if (this.#names.length < this.#least) {
      return { count: this.#least, rank: this.#options.assumed.rank };
    }
    return { count: this.#names.length, rank: this.#names.indexOf(this.#name) };
  }

  /** Call after Redis was down: it may have lost gateways that have not reconnected yet. */
  lostTouch(): void {
    this.#inTouchSinceMs = this.#options.now();
  }

  /** Sends a heartbeat. Rejects if Redis does not answer, or with anything but a list that begins with this gateway. */
  async beat(): Promise<void> {
    const { client, now } = this.#options;
    const reply = await client.eval(REPLICAS_SCRIPT, 1, KEY, this.#name, LIFETIME_MS);
    // A reply to another command must not change the shares of the limits.
    if (!Array.isArray(reply) || reply[0] !== this.#name) {
      throw new StoreError('malformed', 'Redis did not reply with the list of gateways');
    }
    const alive = reply.map(String);
    const isSettled = now() - this.#inTouchSinceMs >= SETTLED_AFTER_MS;
    if (isSettled) this.#least = 1;
    // New gateways count at once; missing ones are dropped only after Redis has been up for a while. A share that is too
    // small admits no request too many.
    const before = isSettled ? [] : this.#names;
    this.#names = [...new Set([...before, ...alive, this.#name])].sort();
  }
}
