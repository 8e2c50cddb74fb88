/** The channels of Redis on which gateways hear of each other, on a connection of its own. */
import type { RedisClient } from './client.ts';

/** Counts were reset; the message names the keys, as a JSON list, or nothing. */
export const RESET_CHANNEL = 'hg:v1:reset';
/** A override was put up or taken down. */
export const OVERRIDES_CHANNEL = 'hg:v1:notices';
/** Questions to every gateway, see gateways.ts. */
export const QUERIES_CHANNEL = 'hg:v1:questions';

/**
 * Characters. Of what gateways say to each other, the names of 500 keys and the reports of 100 clients are the longest.
 */
const LONGEST_MESSAGE = 262_144;

export interface Listener {
  /** What is said from now on will be heard. */
  onListening(): void;
  /** A message that is longer than any of a gateway arrives empty. */
  onMessage(message: string, channel: string): void;
  /** It may go unheard until onListening is called again. */
  onDeaf(reason?: unknown): void;
}

/** Subscribes whenever this connection is made, to each listener's channels by themselves: an account may lack some. */
export function listenTo(
  channels: readonly string[],
  subscriber: RedisClient,
  listener: Listener,
): void {
  subscriber.on('ready', () => {
    subscriber.subscribe(...channels).then(
      () => listener.onListening(),
      // The connection broke, or the account may not subscribe.
      (error: unknown) => listener.onDeaf(error),
    );
  });
  subscriber.on('close', () => listener.onDeaf());
  // In a cluster the client may change to another node by itself, and miss what is said in between.
  subscriber.on('message', (channel: string, message: string) => {
    if (!channels.includes(channel)) return;
    listener.onMessage(message.length > LONGEST_MESSAGE ? '' : message, channel);
  });
}
