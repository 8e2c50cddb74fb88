/** Daily salts that all gateways on one Redis share: the first to propose one for a day decides. */
import type { Redis } from 'ioredis';
import { DAY_MS } from '../../core/salts.ts';
import type { SaltVault } from '../salt-book.ts';

const KEY_PREFIX = 'hg:v1:salt:';

/** From a day's 00:00 UTC: that day, and the next, while windows may still reach back into it. */
const LIFETIME_MS = 2 * DAY_MS;

export class RedisSaltVault implements SaltVault {
  readonly #client: Redis;

  constructor(client: Redis) {
    this.#client = client;
  }

  async get(dayStartMs: number): Promise<Buffer | undefined> {
    const text = await this.#client.get(keyOf(dayStartMs));
    return text === null ? undefined : Buffer.from(text, 'base64url');
  }

  async agree(dayStartMs: number, proposed: Buffer, nowMs: number): Promise<Buffer> {
    const lifetimeMs = dayStartMs + LIFETIME_MS - nowMs;
    const text = proposed.toString('base64url');
    await this.#client.set(keyOf(dayStartMs), text, 'PX', lifetimeMs, 'NX');
    return (await this.get(dayStartMs)) ?? proposed;
  }
}

function keyOf(dayStartMs: number): string {
  return KEY_PREFIX + new Date(dayStartMs).toISOString().slice(0, 10);
}
