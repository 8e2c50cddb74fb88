/** The connection to Redis, set up so that nothing waits for it and nothing is done twice. */
import { Redis } from 'ioredis';

/** Reconnection tries, in milliseconds: quick at first, and never so rare that a Redis that is back goes unnoticed. */
const FIRST_RETRY_MS = 25;
const LONGEST_RETRY_MS = 400;
const RETRY_JITTER_MS = 100;

/**
 * ioredis waits, queues and repeats by default: a command without an answer is sent again after a reconnect, and so
 * counted twice. All four options against that belong together; without `maxRetriesPerRequest: 0` the promise of a
 * command that was under way never settles (https://github.com/redis/ioredis/issues/2193).
 */
export function createRedisClient(url: string, onError: (error: Error) => void): Redis {
  const client = new Redis(url, {
    connectionName: 'headgate',
    enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false,
    maxRetriesPerRequest: 0,
    enableAutoPipelining: false,
    connectTimeout: 500,
    // A server that takes bytes and answers none: the connection is given up, its commands fail, a new one is made.
    socketTimeout: 500,
    keepAlive: 10_000,
    retryStrategy: (attempt) =>
      Math.min(FIRST_RETRY_MS * 2 ** Math.min(attempt, 10), LONGEST_RETRY_MS) +
      Math.random() * RETRY_JITTER_MS,
    // After a failover the old master answers as a replica: 1 reconnects, and does not send the command again.
    reconnectOnError: (error) => (error.message.startsWith('READONLY') ? 1 : false),
  });
  client.on('error', (error) => {
    onError(error);
    // The server has fewer databases than the URL asks for; ioredis would go on and count in the first.
    if (error.message.includes('DB index')) client.disconnect();
  });
  return client;
}
