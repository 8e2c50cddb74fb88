/** Daily salts that all gateways on one Redis share: the first to need a day's salt makes it. */
import { randomBytes } from 'node:crypto';
import type { Redis } from 'ioredis';
import { DAY_MS } from '../../core/salts.ts';
import type { SaltVault } from '../salt-book.ts';

const KEY_PREFIX = 'hg:v1:salt:';

/** From a day's 00:00 UTC: that day, and the next, while windows may still reach back into it. */
const LIFETIME_MS = 2 * DAY_MS;
const SALT_BYTES = 32;

export class RedisSaltVault implements SaltVault {
  readonly #client: Redis;

  constructor(client: Redis) {
    this.#client = client;
  }

  async get(dayStartMs: number): Promise<Buffer | undefined> {
    const text = await this.#client.get(keyOf(dayStartMs));
    return text === null ? undefined : Buffer.from(text, 'base64url');
  }

  async getOrMake(dayStartMs: number, nowMs: number): Promise<Buffer> {
    const made = randomBytes(SALT_BYTES);
    const lifetimeMs = dayStartMs + LIFETIME_MS - nowMs;
    await this.#client.set(keyOf(dayStartMs), made.toString('base64url'), 'PX', lifetimeMs, 'NX');
    return (await this.get(dayStartMs)) ?? made;
  }
}

function keyOf(dayStartMs: number): string {
  return KEY_PREFIX + new Date(dayStartMs).toISOString().slice(0, 10);
}
