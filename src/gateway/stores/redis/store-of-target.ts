/** Creates the store for a target: one for a cluster, another for a single server or sentinels. */
import type { RedisTarget } from '../../config/settings/redis-url.ts';
import { ClusterStore } from './cluster-store.ts';
import { RedisStore, type RedisStoreOptions } from './redis-store.ts';

export function storeOfTarget({ kind }: RedisTarget, options: RedisStoreOptions) {
  return kind === 'cluster' ? new ClusterStore(options) : new RedisStore(options);
}
