/** Asks the other gateways on this Redis to write back salts that it has lost, and writes them back when asked. */
import { Cluster } from 'ioredis';
import { atMostEvery } from '../stores/redis/at-most-every.ts';
import { SALTS_CHANNEL } from '../stores/redis/channels.ts';
import type { RedisClient } from '../stores/redis/client.ts';
import { storeErrorFrom } from '../stores/redis/errors.ts';
import type { SaltHolders } from './salt-books.ts';

/** Anyone who may publish on the channel can ask, so the work for it is limited. */
const RESTORED_EVERY_MS = 100;

export interface RedisSaltHoldersOptions {
  readonly client: RedisClient;
  readonly subscriber: RedisClient;
  readonly restore: () => Promise<void>;
}

export class RedisSaltHolders implements SaltHolders {
  readonly #client: RedisClient;
  readonly #subscriber: RedisClient;
  /** Only holders subscribe, so the number of receivers tells whether there is one. */
  #isHolder = false;
  /** Redis was down, so holders may not have connected again yet. */
  #wasDown = false;

  constructor({ client, subscriber, restore }: RedisSaltHoldersOptions) {
    this.#client = client;
    this.#subscriber = subscriber;
    client.on('close', () => {
      this.#wasDown = true;
    });
    // A failure is met again by the next refresh, which reports it.
    const restoreNow = atMostEvery(RESTORED_EVERY_MS, () => void restore().catch(() => {}));
    subscriber.on('ready', () => this.#subscribe());
    subscriber.on('message', (channel: string) => {
      if (channel === SALTS_CHANNEL) restoreNow();
    });
  }

  join(): void {
    if (this.#isHolder) return;
    this.#isHolder = true;
    this.#subscribe();
  }

  async ask(): Promise<boolean> {
    try {
      const receivers = await this.#client.publish(SALTS_CHANNEL, '');
      // A node of a cluster counts only its own subscribers.
      return receivers > 0 || this.#wasDown || this.#client instanceof Cluster;
    } catch (error) {
      if (storeErrorFrom(error).reason !== 'noperm') throw error;
      // Holders write back what Redis has lost without being asked, too, but later.
      return this.#wasDown;
    }
  }

  #subscribe(): void {
    if (!this.#isHolder || this.#subscriber.status !== 'ready') return;
    // `listenTo` reports an account without this right, because it needs the same for other channels.
    this.#subscriber.subscribe(SALTS_CHANNEL).catch(() => {});
  }
}
