/** Forgets counts, and tells every gateway that they are forgotten. */
import { RESET_CHANNEL } from './channels.ts';
import type { RedisClient } from './client.ts';
import { withDeadline } from './deadline.ts';

/** Keys in one command, and in one message. */
const MOST_AT_ONCE = 500;

/**
 * Deletes the keys, and tells everyone after that: whoever hears of it and asks again is counted anew. Each few hundred
 * have the deadline, milliseconds, for themselves.
 */
export async function resetKeys(
  client: RedisClient,
  keys: readonly string[],
  deadlineMs: number,
): Promise<void> {
  for (let first = 0; first < keys.length; first += MOST_AT_ONCE) {
    await withDeadline(reset(client, keys.slice(first, first + MOST_AT_ONCE)), deadlineMs);
  }
}

async function reset(client: RedisClient, keys: readonly string[]): Promise<void> {
  // One by one: in a cluster they may lie on different nodes.
  await Promise.all(keys.map((key) => client.del(key)));
  await client.publish(RESET_CHANNEL, JSON.stringify(keys));
}

/** The keys that a message names: none for one that somebody sent by hand. */
export function keysIn(message: string): string[] {
  try {
    const keys: unknown = JSON.parse(message);
    return Array.isArray(keys) ? keys.filter((key) => typeof key === 'string') : [];
  } catch {
    return [];
  }
}
