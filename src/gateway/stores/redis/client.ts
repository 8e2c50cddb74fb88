/** Creates a client of ioredis, configured so that no request waits for it and no command runs twice. */
import { Cluster, type ClusterOptions, Redis, type RedisOptions } from 'ioredis';
import type { RedisTarget } from '../../config/settings/redis-url.ts';
import { StoreError } from '../../core/counting/store.ts';
import {
  CONNECT_TIMEOUT_MS,
  CONNECTION_NAME,
  FIRST_RETRY_MS,
  KEEP_ALIVE_MS,
  LEAVE_WITHIN_MS,
  LONGEST_RETRY_MS,
  retryAfter,
  silenceMs,
  tlsOptions,
} from './connecting.ts';
import { isOutOfStep, isUnknownDatabase, storeErrorFrom, withDeadline } from './failures.ts';
import { reconnectAfterEnd, repairIoredis } from './ioredis/repairs.ts';

export type RedisClient = Redis | Cluster;

const SLOTS_REFRESH_MS = 500;
const MAX_REDIRECTIONS = 3;

repairIoredis();

export interface RedisClientOptions {
  readonly target: RedisTarget;
  readonly deadlineMs: number;
  /** A connection, or its first commands, failed. */
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
      : new Redis({ ...node, ...serverOptions(target), retryStrategy: retryAfter });
  if (client instanceof Redis) reconnectAfterEnd(client, FIRST_RETRY_MS);
  client.on('error', (error) => {
    onError(error);
    if (isUnknownDatabase(error)) client.disconnect();
    if (isOutOfStep(error)) client.disconnect(true);
  });
  return client;
}

/**
 * By default, ioredis waits, queues and repeats: it sends a command without a reply again after a reconnect, so the
 * request would be counted twice. The options that prevent this belong together: without `maxRetriesPerRequest: 0`, the
 * promise of a command that was in flight never settles (https://github.com/redis/ioredis/issues/2193).
 */
function nodeOptions(target: RedisTarget, deadlineMs: number) {
  const { tls, username, password } = target;
  return {
    connectionName: CONNECTION_NAME,
    // CLIENT SETINFO needs a newer server than the oldest supported one, and a right of its own.
    disableClientInfo: true,
    ...(username !== undefined && { username }),
    ...(password !== undefined && { password }),
    ...(tls && { tls: tlsOptions(target) }),
    enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false,
    maxRetriesPerRequest: 0,
    enableAutoPipelining: false,
    // ioredis would subscribe again without reporting a failure. `listenTo` does it instead.
    autoResubscribe: false,
    connectTimeout: CONNECT_TIMEOUT_MS,
    disconnectTimeout: LEAVE_WITHIN_MS,
    // A server that loads its data says for how long, and ioredis would wait up to ten seconds for it.
    maxLoadingRetryTime: LONGEST_RETRY_MS,
    // If a server accepts bytes and never replies, the connection is closed, its commands fail, and ioredis reconnects.
    socketTimeout: silenceMs(deadlineMs),
    keepAlive: KEEP_ALIVE_MS,
    // After a failover the old master answers as a replica. 1 reconnects without sending the command again.
    reconnectOnError: (error: Error) => (storeErrorFrom(error).reason === 'readonly' ? 1 : false),
  } satisfies RedisOptions;
}

function serverOptions(target: RedisTarget) {
  const { kind, addresses, database, tls, masterName, sentinelUsername, sentinelPassword } = target;
  if (kind === 'single') return { ...addresses[0], db: database } satisfies RedisOptions;
  return {
    sentinels: [...addresses],
    name: masterName,
    db: database,
    // Sentinels report a failover before the connection to the old master breaks.
    failoverDetector: true,
    sentinelRetryStrategy: retryAfter,
    sentinelReconnectStrategy: retryAfter,
    ...(sentinelUsername !== undefined && { sentinelUsername }),
    ...(sentinelPassword !== undefined && { sentinelPassword }),
    ...(tls && { enableTLSForSentinelMode: true, sentinelTLS: tlsOptions(target) }),
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
    // Certificates are issued for names, but ioredis connects to the addresses that it looked up.
    ...(node.tls && { dnsLookup: (name, callback) => callback(null, name) }),
    // A node that redirects has not run the command, so it may be sent again. After a broken connection it is not sent
    // again (0), because the node may have run it.
    maxRedirections: MAX_REDIRECTIONS,
    retryDelayOnFailover: 0,
    retryDelayOnClusterDown: 0,
  } satisfies ClusterOptions;
}

/** What clients of every kind have. */
export interface Connection {
  readonly status: string;
  on(event: 'ready' | 'end', listener: () => void): unknown;
  once(event: 'ready' | 'end', listener: () => void): unknown;
  /** Closes the connection, and opens another one if `reconnect` is true. */
  disconnect(reconnect?: boolean): void;
}

interface ReadyOptions {
  readonly withinMs: number;
  /** The last error of the connection, if there was one: it says more than that time ran out. */
  readonly connectionError: () => Error | undefined;
}

/** Waits until commands can be sent. Rejects with the connection's error if there is one, otherwise with a StoreError. */
export async function untilReady(
  client: Connection,
  { withinMs, connectionError }: ReadyOptions,
): Promise<void> {
  const isReady = () => client.status === 'ready';
  if (isReady()) return;
  const changed = new Promise<void>((resolve) => {
    client.once('ready', resolve);
    client.once('end', resolve);
  });
  try {
    await withDeadline(changed, withinMs);
  } catch (error) {
    throw connectionError() ?? error;
  }
  if (!isReady()) {
    throw connectionError() ?? new StoreError('connection', 'the connection to Redis was closed');
  }
}
