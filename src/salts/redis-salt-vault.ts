/** Salts that all gateways on one Redis share. The first gateway to propose a salt for a period decides. */
import type { Cluster, Redis } from 'ioredis';
import { DAY_MS, SALT_BYTES } from '../core/salts.ts';
import type { SaltVault } from './salt-book.ts';

const KEY_PREFIX = 'hg:v1:salt:';

export class RedisSaltVault implements SaltVault {
  readonly #client: Redis | Cluster;
  readonly #periodMs: number;

  constructor(client: Redis | Cluster, periodMs: number) {
    this.#client = client;
    this.#periodMs = periodMs;
  }

  async get(startMs: number): Promise<Buffer | undefined> {
    const text = await this.#client.get(this.#keyOf(startMs));
    if (text === null) return undefined;
    const salt = Buffer.from(text, 'base64url');
    if (salt.length === SALT_BYTES) return salt;
    throw new Error(
      `${this.#keyOf(startMs)} does not hold a salt of ${SALT_BYTES} bytes: delete it`,
    );
  }

  async agree(startMs: number, proposed: Buffer, nowMs: number): Promise<Buffer> {
    // Until the end of the next period, because windows of that period reach back into this one.
    const lifetimeMs = startMs + 2 * this.#periodMs - nowMs;
    const text = proposed.toString('base64url');
    await this.#client.set(this.#keyOf(startMs), text, 'PX', lifetimeMs, 'NX');
    return (await this.get(startMs)) ?? proposed;
  }

  /** `hg:v1:salt:1d:2026-11-21` */
  #keyOf(startMs: number): string {
    const day = new Date(startMs).toISOString().slice(0, 10);
    return `${KEY_PREFIX}${this.#periodMs / DAY_MS}d:${day}`;
  }
}
