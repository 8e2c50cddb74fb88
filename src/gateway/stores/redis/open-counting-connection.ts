/** Chooses the connection over which requests are counted, by the kind of Redis. */
import type { RedisClient, RedisClientOptions } from './client.ts';
import { type CountingConnection, overIoredis } from './counting-connection.ts';
import { RespClient } from './resp/resp-client.ts';

interface CountingConnectionOptions extends RedisClientOptions {
  /** The client for everything else. */
  readonly client: RedisClient;
}

/** Whoever calls this disconnects it. `onError` is not called for a connection of the client: that has its own. */
export function openCountingConnection(options: CountingConnectionOptions): CountingConnection {
  const { target, client } = options;
  if (target.kind !== 'single') return overIoredis(client);
  return new RespClient({ ...options, onReplica: () => client.disconnect(true) });
}
