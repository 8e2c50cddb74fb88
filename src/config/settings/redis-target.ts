/** Where a Redis is, however it is run. */
export interface RedisAddress {
  readonly host: string;
  readonly port: number;
}

export interface RedisTarget {
  /** One server, a master that sentinels know, or a cluster. */
  readonly kind: 'single' | 'sentinel' | 'cluster';
  /** The server; the sentinels; some nodes of the cluster. At least one. */
  readonly addresses: readonly [RedisAddress, ...RedisAddress[]];
  readonly tls: boolean;
  readonly username: string | undefined;
  readonly password: string | undefined;
  readonly database: number;
  /** What follows is for sentinels alone. */
  readonly masterName: string;
  readonly sentinelUsername: string | undefined;
  readonly sentinelPassword: string | undefined;
}
