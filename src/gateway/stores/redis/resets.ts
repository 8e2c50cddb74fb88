/** Resets counters, and announces it to every gateway. */
import { RESET_CHANNEL } from './channels.ts';
import type { RedisClient } from './client.ts';
import { withDeadline } from './deadline.ts';

/** Keys in one group, and in one message. */
const GROUP_SIZE = 500;

/**
 * Deletes the keys, and announces it after that: a gateway that receives the message finds the counters reset. The
 * deadline, in milliseconds, applies to each group of 500 keys.
 */
export async function resetKeys(
  client: RedisClient,
  keys: readonly string[],
  deadlineMs: number,
): Promise<void> {
  for (let first = 0; first < keys.length; first += GROUP_SIZE) {
    await withDeadline(reset(client, keys.slice(first, first + GROUP_SIZE)), deadlineMs);
  }
}

async function reset(client: RedisClient, keys: readonly string[]): Promise<void> {
  // One command per key, because in a cluster keys may be on different nodes.
  await Promise.all(keys.map((key) => client.del(key)));
  await client.publish(RESET_CHANNEL, JSON.stringify(keys));
}

/** The keys that a message names; none if the message is not from a gateway. */
export function keysIn(message: string): string[] {
  try {
    const keys: unknown = JSON.parse(message);
    return Array.isArray(keys) ? keys.filter((key) => typeof key === 'string') : [];
  } catch {
    return [];
  }
}
