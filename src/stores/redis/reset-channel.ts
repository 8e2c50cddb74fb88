/** How gateways tell each other that counts were reset: a channel of Redis, on a connection of its own. */
import type { RedisClient } from './client.ts';

const CHANNEL = 'hg:v1:reset';

/** Deletes the keys, and tells everyone after that: whoever hears of it and asks again is counted anew. */
export async function announceReset(client: RedisClient, keys: readonly string[]): Promise<void> {
  // One by one: in a cluster they may lie on different nodes.
  await Promise.all(keys.map((key) => client.del(key)));
  await client.publish(CHANNEL, '');
}

export interface ResetListener {
  /** Resets from now on will be heard. */
  onListening(): void;
  onReset(): void;
  /** Resets may go unheard until onListening is called again. */
  onDeaf(reason?: unknown): void;
}

/** Subscribes whenever this connection is made. It belongs to whoever made it. */
export function listenForResets(subscriber: RedisClient, listener: ResetListener): void {
  subscriber.on('ready', () => {
    subscriber.subscribe(CHANNEL).then(
      () => listener.onListening(),
      // The connection broke, or the account may not subscribe.
      (error: unknown) => listener.onDeaf(error),
    );
  });
  subscriber.on('close', () => listener.onDeaf());
  // In a cluster the client may change to another node by itself, and miss what is said in between.
  subscriber.on('message', () => listener.onReset());
}
