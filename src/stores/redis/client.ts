/** The connection to Redis, set up so that nothing waits for it and nothing is done twice. */
import { Cluster, type ClusterOptions, Redis, type RedisOptions } from 'ioredis';
import type { RedisTarget } from '../../config/settings/redis-target.ts';
import { storeErrorFrom } from './errors.ts';
import { goOnAfterEnd, repairIoredis } from './ioredis-repairs.ts';

export type RedisClient = Redis | Cluster;

/** Reconnection tries, in milliseconds: quick at first, and never so rare that a Redis that is back goes unnoticed. */
const FIRST_RETRY_MS = 25;
const LONGEST_RETRY_MS = 300;
const RETRY_JITTER_MS = 100;

const CONNECT_TIMEOUT_MS = 500;
/** How long a server may take to close its end of a connection that is given up. */
const LEAVE_WITHIN_MS = 50;
/** A connection without an answer for so long is given up; never before a request would give up by itself. */
const SILENCE_MS = 500;

/** How often a cluster is asked who holds what; a redirection makes that known at once. */
const SLOTS_REFRESH_MS = 500;
const MAX_REDIRECTIONS = 3;

repairIoredis();

function retryAfter(attempt: number): number {
  const backoff = Math.min(FIRST_RETRY_MS * 2 ** Math.min(attempt, 10), LONGEST_RETRY_MS);
  return backoff + Math.random() * RETRY_JITTER_MS;
}

export interface RedisClientOptions {
  readonly target: RedisTarget;
  /** How long requests wait at most, milliseconds. */
  readonly deadlineMs: number;
  readonly onError: (error: Error) => void;
}

export function createRedisClient({
  target,
  deadlineMs,
  onError,
}: RedisClientOptions): RedisClient {
  const node = nodeOptions(target, deadlineMs);
  const client =
    target.kind === 'cluster'
      ? new Cluster([...target.addresses], clusterOptions(node))
      : new Redis({ ...node, ...whereabouts(target), retryStrategy: retryAfter });
  if (client instanceof Redis) goOnAfterEnd(client, FIRST_RETRY_MS);
  client.on('error', (error) => {
    onError(error);
    // The server has fewer databases than the URL asks for; ioredis would go on and count in the first.
    if (error.message.includes('DB index')) client.disconnect();
    // A reply to nothing asked: what comes next may answer something else.
    if (error.message.startsWith('Command queue state error')) client.disconnect(true);
  });
  return client;
}

/**
 * ioredis waits, queues and repeats by default: a command without an answer is sent again after a reconnect, and so
 * counted twice. These options against that belong together; without `maxRetriesPerRequest: 0` the promise of a
 * command that was under way never settles (https://github.com/redis/ioredis/issues/2193).
 */
function nodeOptions({ tls, username, password }: RedisTarget, deadlineMs: number) {
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
    // By itself it would subscribe again without anyone to hear that it could not.
    autoResubscribe: false,
    connectTimeout: CONNECT_TIMEOUT_MS,
    disconnectTimeout: LEAVE_WITHIN_MS,
    // A server tells how long it goes on loading, and ioredis would believe it for up to ten seconds.
    maxLoadingRetryTime: LONGEST_RETRY_MS,
    // A server that takes bytes and answers none: the connection is given up, its commands fail, a new one is made.
    socketTimeout: Math.max(SILENCE_MS, deadlineMs),
    keepAlive: 10_000,
    // After a failover the old master answers as a replica: 1 reconnects, and does not send the command again.
    reconnectOnError: (error: Error) => (storeErrorFrom(error).reason === 'readonly' ? 1 : false),
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

function clusterOptions(node: ReturnType<typeof nodeOptions>) {
  const { enableOfflineQueue, ...redisOptions } = node;
  return {
    redisOptions,
    enableOfflineQueue,
    clusterRetryStrategy: retryAfter,
    clusterNodeRetryStrategy: retryAfter,
    slotsRefreshTimeout: CONNECT_TIMEOUT_MS,
    slotsRefreshInterval: SLOTS_REFRESH_MS,
    // Certificates are for names; by default ioredis asks nodes by the addresses that it looked up.
    ...(node.tls && { dnsLookup: (name, callback) => callback(null, name) }),
    // A node that redirects has not run the command. One whose connection broke may have: 0 does not send it again.
    maxRedirections: MAX_REDIRECTIONS,
    retryDelayOnFailover: 0,
    retryDelayOnClusterDown: 0,
  } satisfies ClusterOptions;
}
