/** How to reach a Redis: one server, sentinels or a cluster. */
export interface RedisAddress {
  readonly host: string;
  readonly port: number;
}

export interface RedisTarget {
  readonly kind: 'single' | 'sentinel' | 'cluster';
  /** The server, the sentinels, or some nodes of the cluster. */
  readonly addresses: readonly [RedisAddress, ...RedisAddress[]];
  readonly tls: boolean;
  readonly username: string | undefined;
  readonly password: string | undefined;
  readonly database: number;
  /** Only for sentinels, like the fields below. */
  readonly masterName: string;
  readonly sentinelUsername: string | undefined;
  readonly sentinelPassword: string | undefined;
}
