import { Redis } from 'ioredis';
import type { RedisAddress, RedisTarget } from '../../../gateway/config/settings/redis-url.ts';
import { createRedisClient, untilReady } from '../../../gateway/stores/redis/client.ts';
import { withDeadline } from '../../../gateway/stores/redis/failures.ts';
import { ServerInfo } from '../../../gateway/stores/redis/server-state.ts';
import { missingRight } from './refusals.ts';

export const REPLY_TIMEOUT_MS = 2_000;

export type Contact = Awaited<ReturnType<typeof contact>>;

export function serverTarget(target: RedisTarget, address: RedisAddress): RedisTarget {
  return { ...target, kind: 'single', addresses: [address] };
}

/**
 * Connects as a gateway does. The caller disconnects the client. Rejects with the first error. A server that is loading its
 * data answers INFO.
 */
export async function contact(target: RedisTarget) {
  const { promise, resolve, reject } = Promise.withResolvers<ServerInfo | undefined>();
  /** Later errors of this connection follow from it. */
  let firstError: Error | undefined;
  const client = createRedisClient({
    target,
    deadlineMs: REPLY_TIMEOUT_MS,
    onError: (error) => {
      firstError ??= error;
      // After a timeout the client tries again, because a packet may have been lost.
      if ((error as NodeJS.ErrnoException).code !== 'ETIMEDOUT') reject(error);
    },
  });
  if (!(client instanceof Redis))
    throw new TypeError('a contact needs the target of a single server');
  // Sent before the client is ready: a server that loads its data becomes ready only when it has finished.
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
