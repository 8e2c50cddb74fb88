/** Who else counts in this Redis: each gateway says now and then that it is there. */
import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { Place } from '../local-share.ts';
import type { RedisClient } from './client.ts';

const SCRIPT = readFileSync(new URL('../../../lua/replicas.lua', import.meta.url), 'utf8');
const KEY = 'hg:v1:replicas';

export const HEARTBEAT_MS = 2_000;
/** Two words may be lost. */
const LIFETIME_MS = 3 * HEARTBEAT_MS + HEARTBEAT_MS / 2;

export class Replicas {
  readonly #client: RedisClient;
  readonly #name = randomUUID();
  #place: Place;

  /** `assumed`: until Redis was heard of. */
  constructor(client: RedisClient, assumed: Place) {
    this.#client = client;
    this.#place = assumed;
  }

  /** As it was last known: while Redis is away, nobody's place changes. */
  get place(): Place {
    return this.#place;
  }

  /** Rejects when Redis does not answer. */
  async beat(): Promise<void> {
    const reply = await this.#client.eval(SCRIPT, 1, KEY, this.#name, LIFETIME_MS);
    const names = (Array.isArray(reply) ? reply : []).map(String).sort();
    const rank = names.indexOf(this.#name);
    if (rank !== -1) this.#place = { count: names.length, rank };
  }
}
