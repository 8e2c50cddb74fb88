/** The Redis channels that gateways publish to and subscribe to. */
import type { RedisClient } from './client.ts';

/** Counters were reset. The message is a JSON list of the keys, or empty. */
export const RESET_CHANNEL = 'hg:v1:reset';
/** An override was stored or removed. The message is empty. */
export const OVERRIDES_CHANNEL = 'hg:v1:notices';
/** A gateway finds no salts and asks the others to write theirs back. The message is empty. */
export const SALTS_CHANNEL = 'hg:v1:salts';
/** Queries to every gateway, see peer-gateways.ts. */
export const QUERIES_CHANNEL = 'hg:v1:questions';

/** Characters. The longest messages of gateways are the names of 500 keys and the reports of 100 clients. */
const LONGEST_MESSAGE = 262_144;

export interface Listener {
  /** Subscribed: messages that are published from now on arrive. */
  onListening(): void;
  /** A message that is too long to be from a gateway is passed on as an empty one. */
  onMessage(message: string, channel: string): void;
  /** Messages may be missed until `onListening` is called again. `reason` is missing if the connection closed. */
  onDeaf(reason?: unknown): void;
}

/**
 * Subscribes to the channels of one listener whenever the connection is made. Each listener subscribes separately,
 * because an account may lack the right to some channels.
 */
export function listenTo(
  channels: readonly string[],
  subscriber: RedisClient,
  listener: Listener,
): void {
  subscriber.on('ready', () => {
    subscriber.subscribe(...channels).then(
      () => listener.onListening(),
      // The connection broke, or the account has no right to subscribe.
      (error: unknown) => listener.onDeaf(error),
    );
  });
  subscriber.on('close', () => listener.onDeaf());
  // In a cluster the client may move its subscription to another node, and miss messages in between.
  subscriber.on('message', (channel: string, message: string) => {
    if (!channels.includes(channel)) return;
    listener.onMessage(message.length > LONGEST_MESSAGE ? '' : message, channel);
  });
}
