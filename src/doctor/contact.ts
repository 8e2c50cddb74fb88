/** One connection to one server, as a gateway makes it, and what the server says of itself before it is ready. */
import { Redis } from 'ioredis';
import type { RedisAddress, RedisTarget } from '../config/settings/redis-target.ts';
import { createRedisClient } from '../stores/redis/client.ts';
import { withDeadline } from '../stores/redis/deadline.ts';
import { untilReady } from '../stores/redis/ready.ts';
import { ServerInfo } from '../stores/redis/server-info.ts';
import { missingRight } from './refusals.ts';

/** How long an examination waits for any one answer. */
export const REPLY_TIMEOUT_MS = 2_000;

export interface Contact {
  /** Disconnected by whoever asked for the contact. */
  readonly client: Redis;
  /** Undefined when the account may not ask. */
  readonly info: ServerInfo | undefined;
  /** Resolves once commands can be sent. */
  ready(): Promise<void>;
}

/** One server of several, with the account of the URL. */
export function serverTarget(target: RedisTarget, address: RedisAddress): RedisTarget {
  return { ...target, kind: 'single', addresses: [address] };
}

/** Rejects with the first that stands against it. A server that still loads its data answers as well. */
export async function contact(target: RedisTarget): Promise<Contact> {
  const { promise, resolve, reject } = Promise.withResolvers<ServerInfo | undefined>();
  /** Of this connection: what comes after it follows from it. */
  let firstError: Error | undefined;
  const client = createRedisClient({
    target,
    deadlineMs: REPLY_TIMEOUT_MS,
    onError: (error) => {
      firstError ??= error;
      // An address that does not take connections is tried again: a packet may have been lost.
      if ((error as NodeJS.ErrnoException).code !== 'ETIMEDOUT') reject(error);
    },
  });
  if (!(client instanceof Redis)) throw new TypeError('a contact is made to one server');
  // Now already: a server that loads its data is ready only after that.
  client.on('connect', () => {
    firstError = undefined;
    client.info().then(
      (reply) => resolve(new ServerInfo(reply)),
      (error: Error) => {
        if (missingRight(error) !== undefined) resolve(undefined);
        else reject(error);
      },
    );
  });
  try {
    const info = await withDeadline(promise, REPLY_TIMEOUT_MS);
    const ready = () =>
      untilReady(client, { withinMs: REPLY_TIMEOUT_MS, connectionError: () => firstError });
    return { client, info, ready };
  } catch (error) {
    client.disconnect();
    throw firstError ?? error;
  }
}
