/** The connection to Redis, set up so that nothing waits for it and nothing is done twice. */
import { Cluster, type ClusterOptions, Redis, type RedisOptions } from 'ioredis';
import type { RedisTarget } from '../../core/redis-target.ts';

export type RedisClient = Redis | Cluster;

/** Reconnection tries, in milliseconds: quick at first, and never so rare that a Redis that is back goes unnoticed. */
const FIRST_RETRY_MS = 25;
const LONGEST_RETRY_MS = 400;
const RETRY_JITTER_MS = 100;

const CONNECT_TIMEOUT_MS = 500;

/** How often a cluster is asked who holds what; a redirection makes that known at once. */
const SLOTS_REFRESH_MS = 2_000;
const MAX_REDIRECTIONS = 3;

function retryAfter(attempt: number): number {
  const backoff = Math.min(FIRST_RETRY_MS * 2 ** Math.min(attempt, 10), LONGEST_RETRY_MS);
  return backoff + Math.random() * RETRY_JITTER_MS;
}

export function createRedisClient(
  target: RedisTarget,
  onError: (error: Error) => void,
): RedisClient {
  const client =
    target.kind === 'cluster'
      ? new Cluster([...target.addresses], clusterOptions(target))
      : new Redis({ ...nodeOptions(target), ...whereabouts(target), retryStrategy: retryAfter });
  client.on('error', (error) => {
    onError(error);
    // The server has fewer databases than the URL asks for; ioredis would go on and count in the first.
    if (error.message.includes('DB index')) client.disconnect();
  });
  return client;
}

/**
 * ioredis waits, queues and repeats by default: a command without an answer is sent again after a reconnect, and so
 * counted twice. These options against that belong together; without `maxRetriesPerRequest: 0` the promise of a
 * command that was under way never settles (https://github.com/redis/ioredis/issues/2193).
 */
function nodeOptions({ tls, username, password }: RedisTarget) {
  return {
    connectionName: 'headgate',
    // CLIENT SETINFO is newer than the oldest server, and one command more to permit.
    disableClientInfo: true,
    ...(username !== undefined && { username }),
    ...(password !== undefined && { password }),
    ...(tls && { tls: {} }),
    enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false,
    maxRetriesPerRequest: 0,
    enableAutoPipelining: false,
    connectTimeout: CONNECT_TIMEOUT_MS,
    // A server that takes bytes and answers none: the connection is given up, its commands fail, a new one is made.
    socketTimeout: 500,
    keepAlive: 10_000,
    // After a failover the old master answers as a replica: 1 reconnects, and does not send the command again.
    reconnectOnError: (error: Error) => (error.message.startsWith('READONLY') ? 1 : false),
  } satisfies RedisOptions;
}

function whereabouts(target: RedisTarget) {
  const { kind, addresses, database, tls, masterName, sentinelUsername, sentinelPassword } = target;
  if (kind === 'single') return { ...addresses[0], db: database } satisfies RedisOptions;
  return {
    sentinels: [...addresses],
    name: masterName,
    db: database,
    // Sentinels tell of a failover at once, rather than by the connection that it breaks.
    failoverDetector: true,
    sentinelRetryStrategy: retryAfter,
    sentinelReconnectStrategy: retryAfter,
    ...(sentinelUsername !== undefined && { sentinelUsername }),
    ...(sentinelPassword !== undefined && { sentinelPassword }),
    ...(tls && { enableTLSForSentinelMode: true, sentinelTLS: {} }),
  } satisfies RedisOptions;
}

function clusterOptions(target: RedisTarget) {
  const { enableOfflineQueue, ...redisOptions } = nodeOptions(target);
  return {
    redisOptions,
    enableOfflineQueue,
    clusterRetryStrategy: retryAfter,
    clusterNodeRetryStrategy: retryAfter,
    slotsRefreshTimeout: CONNECT_TIMEOUT_MS,
    slotsRefreshInterval: SLOTS_REFRESH_MS,
    // A node that redirects has not run the command. One whose connection broke may have: 0 does not send it again.
    maxRedirections: MAX_REDIRECTIONS,
    retryDelayOnFailover: 0,
    retryDelayOnClusterDown: 0,
  } satisfies ClusterOptions;
}
